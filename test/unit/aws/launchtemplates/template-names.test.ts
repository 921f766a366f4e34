/** Inputs of the name of a launch template. The provider finds existing templates by this name. */
import { describe, expect, it } from '@jest/globals';
import { CLUSTER, claimOf, planned, type Situation } from './planned-templates.ts';

const ZONE = { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['us-east-1b'] } as const;

describe('the name of a launch template', () => {
  const nameOf = (situation: Situation): string => planned(situation)[0]?.template.name ?? '';
  const labelled = { ...claimOf(), metadata: { ...claimOf().metadata, labels: { team: 'b' } } };

  it('is a number of 64 bits', () => {
    expect(nameOf({})).toMatch(/^karpenter\.k8s\.aws\/\d{1,20}$/);
  });

  it.each<[string, Situation]>([
    ['other instance types that need the same', { typeNames: ['m6i.large'] }],
    ['other terms of selection', { spec: { subnetSelectorTerms: [{ id: 'subnet-9' }] } }],
    ['a claim for another zone', { claim: claimOf({ requirements: [ZONE] }) }],
    ['other labels, which custom user data leaves out', { claim: labelled }],
    ['another CA, which custom user data leaves out', { cluster: { ...CLUSTER, caBundle: 'bm9uZQ==' } }],
  ])('stays the same with %s', (_, situation) => {
    const custom = { ...situation, spec: { amiFamily: 'Custom' as const, ...situation.spec } };
    expect(nameOf(custom)).toBe(nameOf({ spec: { amiFamily: 'Custom' } }));
  });

  it.each<[string, Situation]>([
    ['another NodeClass', { named: 'other' }],
    ['another capacity type', { capacityType: 'spot' }],
    ['another tenancy', { tenancy: 'dedicated' }],
    ['another cluster', { cluster: { ...CLUSTER, name: 'other' } }],
    ['another endpoint', { cluster: { ...CLUSTER, endpoint: 'https://other.example' } }],
    ['another DNS', { cluster: { ...CLUSTER, dnsIp: '10.100.0.11' } }],
    ['another network', { cidr: '10.101.0.0/16' }],
    ['another policy for local disks', { spec: { instanceStorePolicy: 'RAID0' } }],
    ['other tags', { tags: { team: 'b' } }],
    ['other user data', { spec: { userData: 'echo' } }],
  ])('differs with %s', (_, situation) => {
    const custom = { ...situation, spec: { amiFamily: 'Custom' as const, ...situation.spec } };
    expect(nameOf(custom)).not.toBe(nameOf({ spec: { amiFamily: 'Custom' } }));
  });

  it('differs with labels and CA if the user data contains them', () => {
    const al2023 = { spec: { amiFamily: 'AL2023' as const } };
    const others = [{ claim: labelled }, { cluster: { ...CLUSTER, caBundle: 'bm9uZQ==' } }, {}];
    expect(new Set(others.map((other) => nameOf({ ...al2023, ...other }))).size).toBe(3);
  });
});
