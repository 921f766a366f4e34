/**
 * One object for all equal parts of objects of the API server: the containers of a workload's pods, the requirements of
 * a NodePool's claims. Each thread has its own.
 */
import type { Pod, PodSpec, PodStatus } from '../api/kubernetes.ts';
import { internStrings } from './interned-strings.ts';

/** Parts by their text. Started anew when it has grown: workloads come and go. */
const parts = new Map<string, unknown>();
/** Characters of their texts. Pods may be megabytes each, and what is remembered of them outlives them. */
const MAX_CHARACTERS = 4_000_000;
/** Longer texts are hardly ever equal by workload. */
const LONGEST_SHARED = 20_000;
let characters = 0;

/** One object for all that have the same text as JSON. It must never be changed. */
export function shared<T extends object | undefined>(part: T): T {
  if (part === undefined) return part;
  const text = JSON.stringify(part);
  const known = parts.get(text);
  if (known !== undefined) return known as T;
  if (text.length > LONGEST_SHARED) return part;
  if (characters > MAX_CHARACTERS) {
    parts.clear();
    characters = 0;
  }
  characters += text.length;
  parts.set(text, part);
  return part;
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

const OF_METADATA = ['labels', 'annotations', 'ownerReferences', 'finalizers'] as const;
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
