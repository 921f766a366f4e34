import { describe, expect, it } from '@jest/globals';
import {
  CAPACITY_TYPE_LABEL,
  EC2_NODECLASS_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type NodeClaim,
  ZONE_LABEL,
} from '#api/objects';
import type { InstanceType } from '#engine/model';
import { couldHaveBought, Orphans } from '../../../../src/aws/instances/adoption.ts';
import type { Instance } from '../../../../src/aws/instances/instance.ts';

const claim: NodeClaim = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: {
    name: 'a',
    labels: { [NODEPOOL_LABEL]: 'pool' },
    creationTimestamp: '2026-08-01T12:00:00Z',
  },
  spec: {
    nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'class' },
    requirements: [
      { key: ZONE_LABEL, operator: 'In', values: ['a', 'b'] },
      { key: CAPACITY_TYPE_LABEL, operator: 'In', values: ['spot'] },
    ],
    resources: { requests: { cpu: '1500m' } },
  },
};

const instance: Instance = {
  id: 'i-1',
  state: 'running',
  launchedMs: Date.UTC(2026, 7, 1, 12, 0, 1),
  imageId: 'ami-1',
  type: 'm5.large',
  zone: 'a',
  zoneId: '',
  subnetId: 'subnet-1',
  securityGroupIds: [],
  capacityType: 'spot',
  tags: { [NODEPOOL_LABEL]: 'pool', [EC2_NODECLASS_LABEL]: 'class' },
  tenancy: 'default',
  partition: 0,
  efaCount: 0,
};

const types: readonly InstanceType[] = [
  {
    name: 'm5.large',
    requirements: [{ key: INSTANCE_TYPE_LABEL, operator: 'In', values: ['m5.large'] }],
    capacity: { cpu: 2000 },
    overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
    offerings: [],
  },
];

describe('couldHaveBought', () => {
  it('is true for an instance that matches the NodeClaim', () => {
    expect(couldHaveBought(claim, instance, types)).toBe(true);
  });

  it.each<[string, Partial<Instance>]>([
    ['is older than the claim', { launchedMs: Date.UTC(2026, 7, 1, 11, 59, 59) }],
    ['is of another pool', { tags: { ...instance.tags, [NODEPOOL_LABEL]: 'other' } }],
    ['is of another NodeClass', { tags: { ...instance.tags, [EC2_NODECLASS_LABEL]: 'other' } }],
    ['is in another zone', { zone: 'c' }],
    ['is of another capacity type', { capacityType: 'on-demand' }],
    ['is of an unknown type', { type: 'm5.metal' }],
    ['is ending', { state: 'shutting-down' }],
  ])('is false for an instance that %s', (_, change) => {
    expect(couldHaveBought(claim, { ...instance, ...change }, types)).toBe(false);
  });

  it('is false for an instance that is too small', () => {
    const large = { ...claim, spec: { ...claim.spec, resources: { requests: { cpu: '3' } } } };
    expect(couldHaveBought(large, instance, types)).toBe(false);
  });
});

describe('Orphans', () => {
  it('returns each instance once, the oldest first, and skips owned instances', async () => {
    const second = { ...instance, id: 'i-2', launchedMs: instance.launchedMs + 1000 };
    const owned = { ...instance, id: 'i-3' };
    let lists = 0;
    const orphans = new Orphans(
      async () => {
        lists++;
        return [second, owned, instance];
      },
      () => new Set(['i-3']),
    );
    const taken = await Promise.all([1, 2, 3].map(() => orphans.take(claim, types)));
    expect(taken.map((each) => each?.id)).toEqual(['i-1', 'i-2', undefined]);
    expect(lists).toBe(1);
  });

  it('lists again after a failure', async () => {
    let fails = true;
    const orphans = new Orphans(
      async () => {
        if (fails) throw new Error('no answer');
        return [instance];
      },
      () => new Set(),
    );
    await expect(orphans.take(claim, types)).rejects.toThrow('listing instances of an earlier process, no answer');
    fails = false;
    expect((await orphans.take(claim, types))?.id).toBe('i-1');
  });
});
