/** The pods that a provisioning run has to find places for. */
import type { Pod } from '../../api/kubernetes.ts';
import { isProvisionable, podKey } from '../../engine/pods.ts';
import type { ClusterState } from '../../state/cluster.ts';
import { PODS_BY_NODE } from '../../state/stores.ts';
import { untriedReplicas } from './untried-replicas.ts';

const unscheduledPods = ({ stores }: ClusterState): readonly Pod[] => stores.pods.byIndex(PODS_BY_NODE, '');

/** Pods that wait for a node. */
export const pendingPods = (cluster: ClusterState): readonly Pod[] => unscheduledPods(cluster).filter(isProvisionable);

/** Pods that wait for a node, and those that are about to because their like does. */
export function podsToPlace(cluster: ClusterState): readonly Pod[] {
  const unscheduled = unscheduledPods(cluster);
  return [...unscheduled.filter(isProvisionable), ...untriedReplicas(unscheduled)];
}

/** Without the pods that stay with a claim whose launch is overdue: they are not bought for again meanwhile. */
export function withoutPodsOfOverdueClaims({ unlaunched }: ClusterState, pods: readonly Pod[]): readonly Pod[] {
  const staying = unlaunched.podsOfOverdueClaims();
  return staying.size === 0 ? pods : pods.filter((pod) => !staying.has(podKey(pod)));
}
