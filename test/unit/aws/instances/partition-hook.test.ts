import { describe, expect, it } from '@jest/globals';
import { type NodeClaim, PLACEMENT_GROUP_ID_LABEL, PLACEMENT_GROUP_PARTITION_LABEL } from '#api/objects';
import type { Instance } from '../../../../src/aws/instances/instance.ts';
import { partitionHook } from '../../../../src/aws/provider.ts';

const claimWith = (labels: Readonly<Record<string, string>>): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'claim', labels },
  spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, requirements: [] },
  status: { providerID: 'aws:///us-west-2a/i-1' },
});

describe('the hook for partitions', () => {
  const [GROUP, PARTITION] = [PLACEMENT_GROUP_ID_LABEL, PLACEMENT_GROUP_PARTITION_LABEL];

  it.each([
    ['asks nothing outside of placement groups', {}, 0, { done: true }, 0],
    ['asks nothing in a group without partitions', { [GROUP]: 'pg-1' }, 0, { done: true }, 0],
    ['asks nothing when the launch chose', { [GROUP]: 'pg-1', [PARTITION]: '2' }, 0, { done: true }, 0],
    ['waits while EC2 does not tell', { [GROUP]: 'pg-1', [PARTITION]: '' }, 0, { done: false, waitMs: 5_000 }, 1],
    ['writes what EC2 tells', { [GROUP]: 'pg-1', [PARTITION]: '' }, 3, { done: true, labels: { [PARTITION]: '3' } }, 1],
  ])('sets the partition: %s', async (_, labels, partition, answer, calls) => {
    const asked: unknown[] = [];
    const hook = partitionHook({
      get: async (...question) => {
        asked.push(question);
        return { partition } as Instance;
      },
    });
    expect(await hook.ask(claimWith(labels))).toEqual(answer);
    expect(asked).toEqual(Array.from({ length: calls }, () => ['i-1', { skipCache: true }]));
  });
});
