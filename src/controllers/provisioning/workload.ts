/** The pods that a provisioning run has to find places for. */
import type { Pod } from '../../api/kubernetes.ts';
import { currentlyReschedulable } from '../../engine/disruption/candidates/pod-blocks.ts';
import type { StateNode } from '../../engine/model.ts';
import { isProvisionable, podKey } from '../../engine/pods.ts';
import type { ClusterState } from '../../state/cluster.ts';
import { PODS_BY_NODE } from '../../state/stores.ts';

/** Pods that wait for a node. */
export const pendingPods = ({ stores }: ClusterState): readonly Pod[] =>
  stores.pods.byIndex(PODS_BY_NODE, '').filter(isProvisionable);

/** Without the pods that stay with a claim whose launch is overdue: they are not bought for again meanwhile. */
export function withoutPodsOfOverdueClaims({ unlaunched }: ClusterState, pods: readonly Pod[]): readonly Pod[] {
  const staying = unlaunched.podsOfOverdueClaims();
  return staying.size === 0 ? pods : pods.filter((pod) => !staying.has(podKey(pod)));
}

/** Pods of nodes that are going away, which will be pending soon: their next place is prepared now. */
export function podsOfDeletingNodes(
  { stores }: ClusterState,
  nodes: readonly StateNode[],
  nowMs: number,
): readonly Pod[] {
  const budgets = stores.podDisruptionBudgets.list();
  return nodes
    .filter((node) => node.markedForDeletion && node.node !== undefined)
    .flatMap(({ pods }) => pods.filter((pod) => currentlyReschedulable(pod, budgets, nowMs)));
}
