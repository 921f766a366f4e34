/** Arithmetic on amounts of resources, in the canonical units of `Resources` (millicores, bytes, counts). */

import type { Container, ContainerStatus, PodSpec, Quantity, QuantityList } from '../api/kubernetes.ts';
import { formatQuantity, milliValue, parseQuantity } from '../api/quantity.ts';
import { own } from '../lib/own.ts';
import type { EnginePod } from './input.ts';
import type { Resources } from './model.ts';

const CPU = 'cpu';
/** Resources that a pod may request as a whole (`spec.resources`), besides every `hugepages-*`. */
const POD_LEVEL = new Set([CPU, 'memory']);

/** Maximum number of cached quantities. Most pods request the same few quantities. */
const MAX_REMEMBERED = 10_000;
/** Maximum length of a cached quantity, so that users cannot fill the memory with long texts. */
const MAX_REMEMBERED_LENGTH = 32;
const remembered: { readonly cpu: Map<Quantity, number>; readonly other: Map<Quantity, number> } = {
  cpu: new Map(),
  other: new Map(),
};

/** Returns one quantity in canonical units. Rounds fractions up, as Kubernetes does. */
export function amountOf(resource: string, quantity: Quantity): number {
  const known = resource === CPU ? remembered.cpu : remembered.other;
  let amount = known.get(quantity);
  if (amount === undefined) {
    amount = resource === CPU ? milliValue(quantity) : Math.ceil(parseQuantity(quantity));
    if (String(quantity).length > MAX_REMEMBERED_LENGTH) return amount;
    if (known.size >= MAX_REMEMBERED) known.clear();
    known.set(quantity, amount);
  }
  return amount;
}

/** Converts a resource list of the API to canonical units. */
export function resourcesOf(list: QuantityList | undefined): Resources {
  const resources: Record<string, number> = {};
  for (const name in list) resources[name] = amountOf(name, list[name] ?? '0');
  return resources;
}

/** Converts like `resourcesOf`, but omits amounts that are not valid. A missing amount counts as 0. */
export function readableResources(list: QuantityList | undefined): Resources {
  const resources: Record<string, number> = {};
  for (const name in list) {
    try {
      resources[name] = amountOf(name, list[name] ?? '0');
    } catch {
      // one invalid amount must not affect the remaining amounts
    }
  }
  return resources;
}

/**
 * Returns the amount of a resource, or 0 if it is absent. Every object inherits functions with names that are valid for
 * resources, such as `constructor`. The check of the type is cheaper here than a check for an own property.
 */
export function amountIn(resources: Resources, name: string): number {
  const amount: unknown = resources[name];
  return typeof amount === 'number' ? amount : 0;
}

/** Returns the sum over all keys of all lists. */
export function addResources(...lists: readonly Resources[]): Resources {
  const sum: Record<string, number> = {};
  for (const list of lists) for (const [name, amount] of Object.entries(list)) sum[name] = amountIn(sum, name) + amount;
  return sum;
}

/** Returns `a - b` for the keys of `a` only. */
export function subtractResources(a: Resources, b: Resources): Resources {
  const rest: Record<string, number> = {};
  for (const [name, amount] of Object.entries(a)) rest[name] = amount - amountIn(b, name);
  return rest;
}

/** Returns the larger amount for each resource, over all keys. */
export function maxResources(...lists: readonly Resources[]): Resources {
  const largest: Record<string, number> = {};
  for (const list of lists)
    for (const [name, amount] of Object.entries(list)) largest[name] = Math.max(own(largest, name) ?? amount, amount);
  return largest;
}

/** Returns the smaller amount for each resource, over the keys that both lists have. */
export function minCommonResources(a: Resources, b: Resources): Resources {
  const smallest: Record<string, number> = {};
  for (const [name, amount] of Object.entries(a)) {
    const other = own(b, name);
    if (other !== undefined) smallest[name] = Math.min(amount, other);
  }
  return smallest;
}

/**
 * Returns true if `request` fits into `total`. If any amount in `total` is negative, the node is overcommitted and no request
 * fits.
 */
export function fits(request: Resources, total: Resources): boolean {
  for (const name in total) if (amountIn(total, name) < 0) return false;
  for (const name in request) if (amountIn(request, name) > amountIn(total, name)) return false;
  return true;
}

type Amounts = (container: Container, status: ContainerStatus | undefined) => Resources;

/** Sums containers. Init containers count with their peak, including sidecars that keep running. */
function sumContainers(pod: EnginePod, amounts: Amounts): Resources {
  const { containers, initContainers = [] } = pod.spec;
  const status = new Map(
    [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].map((s) => [s.name, s]),
  );
  let running = addResources(...containers.map((container) => amounts(container, status.get(container.name))));
  let sidecars: Resources = {};
  let initPeak: Resources = {};
  for (const container of initContainers) {
    const own = amounts(container, status.get(container.name));
    const moment = addResources(sidecars, own);
    if (container.restartPolicy === 'Always') {
      running = addResources(running, own);
      sidecars = moment;
    }
    initPeak = maxResources(initPeak, moment);
  }
  return maxResources(running, initPeak);
}

function withPodLevel(sum: Resources, podLevel: QuantityList | undefined): Resources {
  if (podLevel === undefined) return sum;
  const supported = Object.entries(resourcesOf(podLevel)).filter(
    ([name]) => POD_LEVEL.has(name) || name.startsWith('hugepages-'),
  );
  return { ...sum, ...Object.fromEntries(supported) };
}

/**
 * Returns the resources that a pod uses on a node by the rules of kube-scheduler, plus one of `pods`. During a resize, the
 * larger of the requested and the allocated amount counts.
 */
export function podRequests(pod: EnginePod): Resources {
  const { containers, initContainers, resources, overhead } = pod.spec;
  const isPlain = initContainers === undefined && resources === undefined && overhead === undefined;
  if (isPlain && containers.length === 1 && pod.status?.containerStatuses === undefined)
    return { ...resourcesOf(containers[0]?.resources?.requests), pods: 1 };
  const sum = sumContainers(pod, (container, status) =>
    maxResources(resourcesOf(container.resources?.requests), resourcesOf(status?.allocatedResources)),
  );
  const whole = withPodLevel(sum, pod.spec.resources?.requests);
  return addResources(whole, resourcesOf(pod.spec.overhead), { pods: 1 });
}

/** Returns the limits of a pod by the same rules. Overhead counts only for limited resources. */
export function podLimits(pod: EnginePod): Resources {
  const sum = sumContainers(pod, (container) => resourcesOf(container.resources?.limits));
  const whole = withPodLevel(sum, pod.spec.resources?.limits);
  const overhead = Object.entries(resourcesOf(pod.spec.overhead)).filter(([name]) => own(whole, name) !== undefined);
  return addResources(whole, Object.fromEntries(overhead), { pods: 1 });
}

const withRequests = (container: Container): Container =>
  container.resources?.limits === undefined
    ? container
    : {
        ...container,
        resources: {
          ...container.resources,
          requests: { ...container.resources.limits, ...container.resources.requests },
        },
      };

/** Copies limits to missing requests. The API server does this for pods, but templates of DaemonSets still lack it. */
export function defaultRequests(spec: PodSpec): PodSpec {
  return {
    ...spec,
    containers: spec.containers.map(withRequests),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(withRequests) }),
  };
}

const isBytes = (name: string): boolean =>
  name === 'memory' || name === 'ephemeral-storage' || name.startsWith('hugepages-');

const format = (name: string, amount: number): string =>
  name === CPU ? formatQuantity(amount / 1000) : formatQuantity(amount, isBytes(name) ? 'BinarySI' : 'DecimalSI');

/** Converts to the API format with the canonical notation of Kubernetes, sorted by key. */
export function quantityList(resources: Resources): Record<string, string> {
  return Object.fromEntries(
    Object.keys(resources)
      .sort()
      .map((name) => [name, format(name, amountIn(resources, name))]),
  );
}
