/** Names the workloads that pods belong to. */
import type { EnginePod } from './input.ts';

/**
 * Returns `namespace/Kind/name` of the workload that controls a pod: the Deployment for a pod of its ReplicaSet, or the pod
 * itself if it has no owner.
 */
export function workloadOf({ metadata }: EnginePod): string {
  const { name, namespace = '', labels = {}, ownerReferences = [] } = metadata;
  const owner = ownerReferences.find(({ controller }) => controller) ?? ownerReferences[0];
  if (owner === undefined) return `${namespace}/Pod/${name}`;
  const suffix = `-${labels['pod-template-hash']}`;
  if (owner.kind !== 'ReplicaSet' || !owner.name.endsWith(suffix)) return `${namespace}/${owner.kind}/${owner.name}`;
  return `${namespace}/Deployment/${owner.name.slice(0, -suffix.length)}`;
}

export const workloadsOf = (pods: readonly EnginePod[]): ReadonlySet<string> => new Set(pods.map(workloadOf));
