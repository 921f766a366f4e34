/** Caches the requests of pods. */
import { isRequestedByStatus } from '../api/resize.ts';
import { tryRun } from '../lib/try-run.ts';
import type { EnginePod } from './input.ts';
import type { Resources } from './model.ts';
import { podRequests } from './resources.ts';

/** Requests by the part of a pod that determines them. They outlive a snapshot, because most pods are part of many snapshots. */
const known = new WeakMap<object, Resources>();

/** Returns the requests of a pod. Pods of a workload that share their containers also share their requests. */
export function cachedRequests(pod: EnginePod): Resources {
  const { spec } = pod;
  const isPlain = spec.initContainers === undefined && spec.resources === undefined && spec.overhead === undefined;
  const owner = isRequestedByStatus(pod) ? pod : isPlain ? spec.containers : spec;
  let requests = known.get(owner);
  if (requests === undefined) {
    requests = podRequests(pod);
    known.set(owner, requests);
  }
  return requests;
}

const NONE: Resources = {};

/** Returns the requests of a pod, or none if they are not valid. One such pod must not prevent decisions about other nodes. */
export const readableRequests = (pod: EnginePod): Resources => tryRun(() => cachedRequests(pod)) ?? NONE;
