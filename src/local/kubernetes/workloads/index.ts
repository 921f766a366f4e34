/** The controllers of kube-controller-manager that a cluster with an autoscaler cannot do without. */
import type { Parts } from '../../parts.ts';
import { startDaemonSets } from './daemonset.ts';
import { startDeployments } from './deployment.ts';
import { startJobs } from './job.ts';
import { startNodeLifecycle } from './nodelifecycle.ts';
import { startPodGc } from './podgc.ts';
import { startReplicaSets } from './replicaset.ts';
import { startStatefulSets } from './statefulset.ts';
import { startVolumes } from './volumes.ts';

/** Starts them all; they end with `parts.signal`. */
export async function startWorkloads(parts: Parts): Promise<void> {
  await Promise.all([
    startDeployments(parts),
    startReplicaSets(parts),
    startStatefulSets(parts),
    startDaemonSets(parts),
    startJobs(parts),
    startNodeLifecycle(parts),
    startPodGc(parts),
    startVolumes(parts),
  ]);
}
