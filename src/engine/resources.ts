/** Arithmetic on amounts of resources, in the canonical units of `Resources` (millicores, bytes, counts). */

import {
  type Container,
  type ContainerStatus,
  isRequestedByStatus,
  isResizeInfeasible,
  isSidecar,
  type PodSpec,
  type Quantity,
  type QuantityList,
} from '#api/objects';
import { formatQuantity, milliValue, parseQuantity } from '#api/values';
import { own } from '#lib';
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

export function sameResources(a: Resources, b: Resources): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => own(b, name) === a[name]);
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
function sumContainers({ spec, status }: EnginePod, amounts: Amounts): Resources {
  const { containers, initContainers = [] } = spec;
  const statuses = new Map(
    [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].map((each) => [each.name, each]),
  );
  let running = addResources(...containers.map((container) => amounts(container, statuses.get(container.name))));
  let sidecars: Resources = {};
  let initPeak: Resources = {};
  for (const container of initContainers) {
    const staysRunning = isSidecar(container);
    const own = amounts(container, staysRunning ? statuses.get(container.name) : undefined);
    const moment = addResources(sidecars, own);
    if (staysRunning) {
      running = addResources(running, own);
      sidecars = moment;
    }
    initPeak = maxResources(initPeak, moment);
  }
  return maxResources(running, initPeak);
}

/** Replaces the sum of the containers by the amounts of the whole pod. */
function withPodLevel(sum: Resources, podLevel: Resources): Resources {
  const supported = Object.entries(podLevel).filter(([name]) => POD_LEVEL.has(name) || name.startsWith('hugepages-'));
  return { ...sum, ...Object.fromEntries(supported) };
}

/** Desired and reported requests of a container or a whole pod. */
interface ResizeStates {
  readonly desired: QuantityList | undefined;
  readonly inEffect: QuantityList | undefined;
  readonly allocated: QuantityList | undefined;
}

/** Returns the requests that count during a resize. A desired amount that the node can never provide does not count. */
function effectiveRequests({ desired, inEffect, allocated }: ResizeStates, isInfeasible: boolean): Resources {
  const reported = maxResources(resourcesOf(inEffect), resourcesOf(allocated));
  return isInfeasible ? reported : maxResources(resourcesOf(desired), reported);
}

/**
 * Returns the resources that a pod uses on a node by the rules of kube-scheduler, plus one of `pods`. While a pod is resized,
 * these are the largest of the desired, the allocated and the effective requests.
 */
export function podRequests(pod: EnginePod): Resources {
  const { spec, status } = pod;
  const { containers, initContainers, resources, overhead } = spec;
  const isReported = isRequestedByStatus(pod);
  const isPlain = initContainers === undefined && resources === undefined && overhead === undefined;
  if (isPlain && containers.length === 1 && !isReported)
    return { ...resourcesOf(containers[0]?.resources?.requests), pods: 1 };
  if (!isReported) return wholeRequests(pod, sumContainers(pod, requestsOf), resourcesOf(resources?.requests));
  const isInfeasible = isResizeInfeasible(pod);
  const sum = sumContainers(pod, (container, report) =>
    report?.resources === undefined
      ? requestsOf(container)
      : effectiveRequests(
          {
            desired: container.resources?.requests,
            inEffect: report.resources.requests,
            allocated: report.allocatedResources,
          },
          isInfeasible,
        ),
  );
  const claimed = (status?.nodeAllocatableResourceClaimStatuses ?? []).map((claim) => resourcesOf(claim.resources));
  return wholeRequests(pod, addResources(sum, ...claimed), podLevelRequests(pod, isInfeasible));
}

const requestsOf = ({ resources }: Container): Resources => resourcesOf(resources?.requests);

/** Returns the effective requests of the whole pod for the resources that its spec requests. */
function podLevelRequests({ spec, status }: EnginePod, isInfeasible: boolean): Resources {
  const desired = spec.resources?.requests;
  if (desired === undefined || status?.resources === undefined) return resourcesOf(desired);
  const { resources, allocatedResources: allocated } = status;
  const effective = effectiveRequests({ desired, inEffect: resources.requests, allocated }, isInfeasible);
  return Object.fromEntries(Object.keys(desired).map((name) => [name, amountIn(effective, name)]));
}

const wholeRequests = ({ spec }: EnginePod, sum: Resources, podLevel: Resources): Resources =>
  addResources(withPodLevel(sum, podLevel), resourcesOf(spec.overhead), { pods: 1 });

/** Returns the limits of a pod by the same rules. Overhead counts only for limited resources. */
export function podLimits(pod: EnginePod): Resources {
  const sum = sumContainers(pod, (container) => resourcesOf(container.resources?.limits));
  const whole = withPodLevel(sum, resourcesOf(pod.spec.resources?.limits));
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

export const isBytes = (name: string): boolean =>
  name === 'memory' || name === 'ephemeral-storage' || name.startsWith('hugepages-');

/** Formats an amount with the canonical notation of Kubernetes. */
export const quantityOf = (name: string, amount: number): string =>
  name === CPU ? formatQuantity(amount / 1000) : formatQuantity(amount, isBytes(name) ? 'BinarySI' : 'DecimalSI');

/** Converts to the API format with the canonical notation of Kubernetes, sorted by key. */
export function quantityList(resources: Resources): Record<string, string> {
  return Object.fromEntries(
    Object.keys(resources)
      .sort()
      .map((name) => [name, quantityOf(name, amountIn(resources, name))]),
  );
}
