/** Requests of pods that are placed on a node, cached by the part of the pod that determines them. */
import { isRequestedByStatus } from '#api/objects';
import { tryRun } from '#lib';
import type { EnginePod } from './input.ts';
import type { Resources } from './model.ts';
import { podRequests } from './resources.ts';

/** Requests by their origin. They outlive a snapshot, because most pods are part of many snapshots. */
const known = new WeakMap<object, Resources>();

/**
 * Returns the requests that a pod needs on its next node. A running pod never moves: its controller creates a successor, which
 * may have other requests. Pods of a workload that share their containers also share their requests.
 */
export function placementRequests(pod: EnginePod): Resources {
  const { spec, successorRequests } = pod;
  if (successorRequests !== undefined) return successorRequests;
  const isPlain = spec.initContainers === undefined && spec.resources === undefined && spec.overhead === undefined;
  const origin = isRequestedByStatus(pod) ? pod : isPlain ? spec.containers : spec;
  let requests = known.get(origin);
  if (requests === undefined) {
    requests = podRequests(pod);
    known.set(origin, requests);
  }
  return requests;
}

const NONE: Resources = {};

/** Returns the requests of a pod, or no requests if they are not valid, because one such pod must not affect other nodes. */
export const readableRequests = (pod: EnginePod): Resources => tryRun(() => placementRequests(pod)) ?? NONE;
