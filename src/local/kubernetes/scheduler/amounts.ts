/** Requests of pods in the units of the engine, cached by spec. */
import { type Container, isRequestedByStatus, type Pod, type PodSpec } from '#api/objects';
import { defaultRequests, type Resources, podRequests as requestsOf } from '#engine/model';
import { own } from '#lib';

export function add(sum: Record<string, number>, amounts: Resources, sign: 1 | -1 = 1): void {
  for (const [name, amount] of Object.entries(amounts)) sum[name] = (own(sum, name) ?? 0) + sign * amount;
}

/** Requests by the part of a pod that determines them: its spec, or the pod if its status reports other requests. */
const known = new WeakMap<object, Resources>();
const knownScored = new WeakMap<object, Resources>();

/** Requests that scores assume for a container without requests, so that nodes with many such pods count as busy. */
const SMALL = { cpu: '100m', memory: '200Mi' };

const ownerOf = (pod: Pod): object => (isRequestedByStatus(pod) ? pod : pod.spec);

/** Returns the resources that a pod needs on a node. */
export function podRequests(pod: Pod): Resources {
  const owner = ownerOf(pod);
  const found = known.get(owner) ?? requestsOf({ ...pod, spec: defaultRequests(pod.spec) });
  known.set(owner, found);
  return found;
}

/** Returns requests for scores. Containers without a request for CPU or memory count as small ones. */
export function scoredRequests(pod: Pod): Resources {
  const owner = ownerOf(pod);
  const found = knownScored.get(owner) ?? requestsOf({ ...pod, spec: withSmallRequests(defaultRequests(pod.spec)) });
  knownScored.set(owner, found);
  return found;
}

const withSmallRequests = ({ containers, initContainers = [], ...spec }: PodSpec): PodSpec => ({
  ...spec,
  containers: containers.map(atLeastSmall),
  initContainers: initContainers.map(atLeastSmall),
});

const atLeastSmall = (container: Container): Container => ({
  ...container,
  resources: { ...container.resources, requests: { ...SMALL, ...container.resources?.requests } },
});
