/** Names the workloads that pods belong to. */
import { controllerOf } from '#api/objects';
import type { EnginePod } from './input.ts';

/**
 * Returns `namespace/Kind/name` of the workload that controls a pod: the Deployment for a pod of its ReplicaSet, or the pod
 * itself if it has no owner.
 */
export function workloadOf(pod: EnginePod): string {
  const { name, namespace = '', labels = {}, ownerReferences = [] } = pod.metadata;
  const owner = controllerOf(pod) ?? ownerReferences[0];
  if (owner === undefined) return `${namespace}/Pod/${name}`;
  const suffix = `-${labels['pod-template-hash']}`;
  if (owner.kind !== 'ReplicaSet' || !owner.name.endsWith(suffix)) return `${namespace}/${owner.kind}/${owner.name}`;
  return `${namespace}/Deployment/${owner.name.slice(0, -suffix.length)}`;
}

/** Returns the UID of the Job that controls a pod. */
export function jobOf(pod: Pick<EnginePod, 'metadata'>): string | undefined {
  const owner = controllerOf(pod);
  return owner?.kind === 'Job' ? owner.uid : undefined;
}

/** Returns true if the work of the pod is lost by an eviction. */
export const losesWork = (pod: Pick<EnginePod, 'metadata'>): boolean =>
  controllerOf(pod) === undefined || jobOf(pod) !== undefined;

export const workloadsOf = (pods: readonly EnginePod[]): ReadonlySet<string> => new Set(pods.map(workloadOf));
