/**
 * Keeps one shared object for all equal parts of API objects: the containers of a workload's pods, the requirements of a
 * NodePool's claims. Each thread has its own shared objects.
 */

import type { Pod, PodSpec, PodStatus } from '#api/objects';
import { ByText, internShared, internStrings } from '#lib';

/** Shared parts. A part is removed when no object uses it, because workloads come and go. */
const parts = new ByText<object>();
/** Maximum length of a shared text. Longer texts are rarely equal within a workload. */
const LONGEST_SHARED = 20_000;

/** Returns one object for all parts with the same JSON text. Callers must never change it. */
export function shareParts<T extends object>(part: T): T {
  const text = JSON.stringify(part);
  // equal JSON texts have the same type
  return text.length > LONGEST_SHARED ? part : (parts.of(text, () => internShared(part)) as T);
}

/** Returns a copy of an object. Each of the named fields is replaced by the shared object for equal values. */
export function sharedFields<T extends object>(object: T, names: readonly (keyof T)[]): T {
  const copy = { ...object };
  for (const name of names) {
    const part: unknown = copy[name];
    if (typeof part === 'object' && part !== null) copy[name] = shareParts(part) as T[keyof T];
  }
  return copy;
}

/** Shared metadata fields. Annotations are not shared, because networks write addresses into the annotations of each pod. */
const OF_METADATA = ['labels', 'ownerReferences', 'finalizers'] as const;
const OF_SPEC = [
  'containers',
  'initContainers',
  'volumes',
  'nodeSelector',
  'affinity',
  'tolerations',
  'topologySpreadConstraints',
  'overhead',
  'resources',
  'resourceClaims',
  'schedulingGates',
] as const satisfies readonly (keyof PodSpec)[];
const OF_STATUS = [
  'containerStatuses',
  'initContainerStatuses',
  'resourceClaimStatuses',
] as const satisfies readonly (keyof PodStatus)[];

/** Returns the pod with shared objects for the parts that pods of a workload have in common. */
export function withSharedParts(pod: Pod): Pod {
  const { metadata, spec, status } = pod;
  return {
    ...pod,
    metadata: internStrings(sharedFields(metadata, OF_METADATA), 'flat'),
    spec: internStrings(sharedFields(spec, OF_SPEC), 'flat'),
    ...(status === undefined ? {} : { status: internStrings(sharedFields(status, OF_STATUS), 'flat') }),
  };
}
