/** NodeClasses of other accounts, adapted to the account of the replay. */
import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#api/objects';
import { fitToAccount } from '../../../src/replay/run.ts';

const nodeClass = (spec: Record<string, unknown>) =>
  ({ apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', metadata: { name: 'default' }, spec }) as KubeObject & {
    readonly spec: Record<string, unknown>;
  };

const DISCOVERED = [{ tags: { 'karpenter.sh/discovery': 'replay' } }];

describe('fitted', () => {
  it('replaces account-specific fields, and keeps all other fields', () => {
    const kubelet = { maxPods: 30 };
    const blockDeviceMappings = [{ deviceName: '/dev/xvda', ebs: { volumeSize: '100Gi' } }];
    const given = nodeClass({
      role: 'theirs',
      instanceProfile: 'theirs',
      amiSelectorTerms: [{ alias: 'bottlerocket@v1.20.0' }],
      subnetSelectorTerms: [{ id: 'subnet-1' }],
      securityGroupSelectorTerms: [{ name: 'theirs' }],
      capacityReservationSelectorTerms: [{ id: 'cr-1' }],
      placementGroupSelector: { name: 'theirs' },
      ...{ kubelet, blockDeviceMappings },
    });
    expect(fitToAccount(given, 'replay')).toEqual({
      ...given,
      spec: {
        amiSelectorTerms: [{ alias: 'bottlerocket@latest' }],
        subnetSelectorTerms: DISCOVERED,
        securityGroupSelectorTerms: DISCOVERED,
        role: 'KarpenterNodeRole-replay',
        ...{ kubelet, blockDeviceMappings },
      },
    });
    expect(given.spec.role).toBe('theirs');
  });

  it.each([
    [{ amiSelectorTerms: [{ id: 'ami-1' }, { alias: 'al2@v2' }] }, 'al2@latest'],
    [{ amiFamily: 'Windows2022', amiSelectorTerms: [{ id: 'ami-1' }] }, 'windows2022@latest'],
    [{ amiFamily: 'Custom', amiSelectorTerms: [{ id: 'ami-1' }] }, 'al2023@latest'],
    [{ amiFamily: 'constructor' }, 'al2023@latest'],
    [{}, 'al2023@latest'],
  ])('uses images of the family of %j', (spec, alias) => {
    expect(fitToAccount(nodeClass(spec), 'replay').spec.amiSelectorTerms).toEqual([{ alias }]);
  });

  it.each([
    { apiVersion: 'v1', kind: 'EC2NodeClass', metadata: { name: 'other' }, spec: { role: 'theirs' } },
    { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'default' }, spec: {} },
  ])('does not change $apiVersion $kind', (object) => {
    expect(fitToAccount(object as KubeObject, 'replay')).toBe(object);
  });
});
