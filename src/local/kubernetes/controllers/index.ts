/** Controllers of kube-controller-manager that a cluster with an autoscaler requires. */
import type { Parts } from '../../parts.ts';
import { type NodeLifecycleOptions, startNodeLifecycle, startPodGc } from './node-lifecycle.ts';
import { startResourceClaims } from './resource-claims.ts';
import { startVolumes } from './volumes.ts';
import { startDaemonSets } from './workloads/daemonset.ts';
import { startDeployments } from './workloads/deployment.ts';
import { startJobs } from './workloads/job.ts';
import { startReplicaSets } from './workloads/replicaset.ts';
import { startStatefulSets } from './workloads/statefulset.ts';

/** Starts all controllers. They stop when `parts.signal` is aborted. */
export async function startWorkloads(parts: Parts, options: NodeLifecycleOptions = {}): Promise<void> {
  await Promise.all([
    startDeployments(parts),
    startReplicaSets(parts),
    startStatefulSets(parts),
    startDaemonSets(parts),
    startJobs(parts),
    startNodeLifecycle(parts, options),
    startPodGc(parts),
    startVolumes(parts),
    startResourceClaims(parts),
  ]);
}
