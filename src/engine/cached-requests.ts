/** Caches the requests of pods. */
import type { ContainerStatus } from '../api/kubernetes.ts';
import type { EnginePod } from './input.ts';
import type { Resources } from './model.ts';
import { podRequests } from './resources.ts';

/** Requests by the part of a pod that determines them. They outlive a snapshot, because most pods are part of many snapshots. */
const known = new WeakMap<object, Resources>();

/** Returns the requests of a pod. Pods of a workload that share their containers also share their requests. */
export function cachedRequests(pod: EnginePod): Resources {
  const { spec, status } = pod;
  const isPlain = spec.initContainers === undefined && spec.resources === undefined && spec.overhead === undefined;
  // the status of a resize can raise requests
  const isResized =
    status?.containerStatuses?.some(isAllocated) === true || status?.initContainerStatuses?.some(isAllocated) === true;
  const owner = isResized ? pod : isPlain ? spec.containers : spec;
  let requests = known.get(owner);
  if (requests === undefined) {
    requests = podRequests(pod);
    known.set(owner, requests);
  }
  return requests;
}

const isAllocated = ({ allocatedResources }: ContainerStatus): boolean => allocatedResources !== undefined;
