/** Pods of a cluster that need a node. */

import { type Pod, uidOf } from '#api/objects';
import { podsOfLeavingNodes } from '#engine/disruption';
import { podKey, type StateNode } from '#engine/model';
import { type ClusterState, type OverdueClaim, PODS_BY_NODE, untriedReplicas } from '#state';

const unscheduledPods = ({ stores }: ClusterState): readonly Pod[] => stores.pods.byIndex(PODS_BY_NODE, '');

/** Returns the pods that wait for a node. */
export const pendingPods = (cluster: ClusterState): readonly Pod[] =>
  unscheduledPods(cluster).filter(cluster.isProvisionable);

/** Returns the pods that wait for a node, and replicas of such pods that kube-scheduler has not tried yet. */
export function podsToPlace(cluster: ClusterState): readonly Pod[] {
  const unscheduled = unscheduledPods(cluster);
  return [...unscheduled.filter(cluster.isProvisionable), ...untriedReplicas(unscheduled, cluster)];
}

/** Removes the pods of NodeClaims with an overdue launch, so that no second node is launched for them in the meantime. */
export function withoutPodsOfOverdueClaims({ unlaunched }: ClusterState, pods: readonly Pod[]): readonly Pod[] {
  const staying = unlaunched.podsOfOverdueClaims();
  return staying.size === 0 ? pods : pods.filter((pod) => !staying.has(podKey(pod)));
}

/** Pods that need a node, and the nodes at the same time. */
export interface Workload {
  readonly nowMs: number;
  readonly nodes: readonly StateNode[];
  readonly overdue: readonly OverdueClaim[];
  readonly pending: readonly Pod[];
  /** Pods of nodes that are being removed. Nodes are launched for them before they are pending. */
  readonly leaving: readonly Pod[];
  /** Virtual pods of capacity buffers. */
  readonly virtual: readonly Pod[];
}

/** By default, the current virtual pods, and the NodeClaims whose launch failed or takes long. */
export function workloadOf(
  cluster: ClusterState,
  nowMs: number,
  {
    virtual = cluster.virtualPods.list(),
    overdue = cluster.unlaunched.overdue(),
  }: Partial<Pick<Workload, 'virtual' | 'overdue'>> = {},
): Workload {
  const { podDisruptionBudgets } = cluster.stores;
  // Reads nodes before pods: a pod that is bound in between then appears once, as bound, or not at all.
  const nodes = cluster.nodes();
  return {
    nowMs,
    nodes,
    overdue,
    pending: withoutPodsOfOverdueClaims(cluster, podsToPlace(cluster)),
    leaving: withoutPodsOfOverdueClaims(
      cluster,
      podsOfLeavingNodes(nodes, podDisruptionBudgets.list(), nowMs).filter((pod) => !cluster.surged.has(uidOf(pod))),
    ),
    virtual: withoutPodsOfOverdueClaims(cluster, virtual),
  };
}
