/** Requests of pods in the units of the engine, cached by spec. */
import type { Container, Pod, PodSpec } from '../../../api/kubernetes.ts';
import type { Resources } from '../../../engine/model.ts';
import { defaultRequests, podRequests as requestsOf } from '../../../engine/resources.ts';
import { own } from '../../../lib/own.ts';

export function add(sum: Record<string, number>, amounts: Resources, sign: 1 | -1 = 1): void {
  for (const [name, amount] of Object.entries(amounts)) sum[name] = (own(sum, name) ?? 0) + sign * amount;
}

const known = new WeakMap<PodSpec, Resources>();
const knownScored = new WeakMap<PodSpec, Resources>();

/** Requests that scores assume for a container without requests, so that nodes with many such pods count as busy. */
const SMALL = { cpu: '100m', memory: '200Mi' };

/** Returns the resources that a pod needs on a node. */
export function podRequests(pod: Pod): Resources {
  const found = known.get(pod.spec) ?? requestsWith(pod, defaultRequests(pod.spec));
  known.set(pod.spec, found);
  return found;
}

/** Returns requests for scores. Containers without a request for CPU or memory count as small ones. */
export function scoredRequests(pod: Pod): Resources {
  const found = knownScored.get(pod.spec) ?? requestsWith(pod, withSmallRequests(defaultRequests(pod.spec)));
  knownScored.set(pod.spec, found);
  return found;
}

/** Returns the requests of a spec. The status does not count, because the result is cached by spec. */
const requestsWith = ({ apiVersion, kind, metadata }: Pod, spec: PodSpec): Resources =>
  requestsOf({ apiVersion, kind, metadata, spec });

const withSmallRequests = ({ containers, initContainers = [], ...spec }: PodSpec): PodSpec => ({
  ...spec,
  containers: containers.map(atLeastSmall),
  initContainers: initContainers.map(atLeastSmall),
});

const atLeastSmall = (container: Container): Container => ({
  ...container,
  resources: { ...container.resources, requests: { ...SMALL, ...container.resources?.requests } },
});
