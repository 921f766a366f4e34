/** Explains the resources of new nodes of an instance type, with the input of the next solve. */
import { explainInstanceType, type InstanceTypeExplanation } from '#engine/explanations';
import { takeSnapshot } from '#planner';
import type { Deps } from './deps.ts';
import { viewedPoolInputs } from './pool-inputs.ts';

export async function instanceTypeExplanations(
  { cloud, clock, cluster, settings }: Pick<Deps, 'cloud' | 'clock' | 'cluster' | 'settings'>,
  name: string,
): Promise<readonly InstanceTypeExplanation[]> {
  const pools = await viewedPoolInputs({ cloud, clock, cluster, settings });
  const parts = { nowMs: clock.now(), pools, nodes: cluster.nodes(), overdue: [], pendingPods: [] };
  return explainInstanceType(name, takeSnapshot(cluster, parts), {
    termsOf: (nodePool, type) => cloud.typeTerms?.(nodePool, type),
    ignoresDevices: cluster.devices === undefined,
  });
}
