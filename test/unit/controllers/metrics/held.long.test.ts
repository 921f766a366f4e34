/** Memory and timers that the metrics controllers hold in a large cluster between two scrapes. */
import { expect, it } from '@jest/globals';
import { heapUsed } from '../../../support/heap.ts';
import { clusterToMeasure } from './large-cluster.ts';

const FEW = { nodes: 50, pods: 1_000 };
const MANY = { nodes: 500, pods: 10_000 };

it('metrics controllers hold the same number of timers in a large cluster as in a small one', async () => {
  const waitingOf = async (size: typeof FEW): Promise<number> => {
    const { clock, begin } = clusterToMeasure(size, 'karpenter');
    await begin();
    return clock.waiting;
  };
  expect(await waitingOf(MANY)).toBe(await waitingOf(FEW));
});

it('metrics controllers hold little memory per pod and node', async () => {
  // Excludes compiled code and memory that does not grow with the cluster.
  await clusterToMeasure(FEW, 'karpenter').begin();
  const { cluster, metrics, begin } = clusterToMeasure(MANY, 'karpenter');
  cluster.nodes();
  // A standby replica has the stores as well.
  expect(await metrics.text()).not.toContain('karpenter_pods_state{');
  const before = heapUsed();
  await begin();
  const perPod = (heapUsed() - before) / MANY.pods;
  const text = await metrics.text();
  expect(text.split('\n').filter((line) => line.startsWith('karpenter_pods_state{'))).toHaveLength(MANY.pods);
  // Includes a twentieth of a node and of its claim.
  expect(perPod).toBeLessThan(400);
});
