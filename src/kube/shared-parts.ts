/**
 * One object for all equal parts of objects of the API server: the containers of a workload's pods, the requirements of
 * a NodePool's claims. Each thread has its own.
 */

import type { Pod, PodSpec, PodStatus } from '../api/kubernetes.ts';
import { ByText } from '../lib/by-text.ts';
import { internShared, internStrings } from '../lib/interned-strings.ts';

/** For as long as an object has them: workloads come and go. */
const parts = new ByText<object>();
/** Longer texts are hardly ever equal by workload. */
const LONGEST_SHARED = 20_000;

/** One object for all that have the same text as JSON. It must never be changed. */
export function shared<T extends object>(part: T): T {
  const text = JSON.stringify(part);
  // it is of the type that has this text
  return text.length > LONGEST_SHARED ? part : (parts.of(text, () => internShared(part)) as T);
}

/** A copy, with the one object for all that are equal in each of these fields. */
export function sharedFields<T extends object>(object: T, names: readonly (keyof T)[]): T {
  const copy = { ...object };
  for (const name of names) {
    const part: unknown = copy[name];
    if (typeof part === 'object' && part !== null) copy[name] = shared(part) as T[keyof T];
  }
  return copy;
}

/** Annotations are not among them: networks write addresses into those of each pod. */
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

/** The pod, with one object for each part that pods of a workload have in common. */
export function withSharedParts(pod: Pod): Pod {
  const { metadata, spec, status } = pod;
  return {
    ...pod,
    metadata: internStrings(sharedFields(metadata, OF_METADATA), 'flat'),
    spec: internStrings(sharedFields(spec, OF_SPEC), 'flat'),
    ...(status === undefined ? {} : { status: internStrings(sharedFields(status, OF_STATUS), 'flat') }),
  };
}
