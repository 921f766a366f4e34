/** Pods that a provisioning run must place. */
import type { Pod } from '../../api/kubernetes.ts';
import { isProvisionable, podKey } from '../../engine/pods.ts';
import type { ClusterState } from '../../state/cluster.ts';
import { PODS_BY_NODE } from '../../state/stores.ts';
import { untriedReplicas } from './untried-replicas.ts';

const unscheduledPods = ({ stores }: ClusterState): readonly Pod[] => stores.pods.byIndex(PODS_BY_NODE, '');

/** Returns the pods that wait for a node. */
export const pendingPods = (cluster: ClusterState): readonly Pod[] => unscheduledPods(cluster).filter(isProvisionable);

/** Returns the pods that wait for a node, and replicas of such pods that kube-scheduler has not tried yet. */
export function podsToPlace(cluster: ClusterState): readonly Pod[] {
  const unscheduled = unscheduledPods(cluster);
  return [...unscheduled.filter(isProvisionable), ...untriedReplicas(unscheduled)];
}

/** Removes the pods of NodeClaims with an overdue launch, so that no second node is launched for them in the meantime. */
export function withoutPodsOfOverdueClaims({ unlaunched }: ClusterState, pods: readonly Pod[]): readonly Pod[] {
  const staying = unlaunched.podsOfOverdueClaims();
  return staying.size === 0 ? pods : pods.filter((pod) => !staying.has(podKey(pod)));
}
