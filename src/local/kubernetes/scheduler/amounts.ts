/** Resource amounts as integers, so that sums are exact: CPU in millicores, all other resources in base units. */
import type { Container, Pod, PodSpec, QuantityList } from '../../../api/kubernetes.ts';
import { milliValue, parseQuantity } from '../../../api/quantity.ts';
import { own } from '../../../lib/own.ts';

export type Amounts = Readonly<Record<string, number>>;
type Sum = Record<string, number>;

export function amountsOf(list: QuantityList | undefined): Amounts {
  const amounts: Sum = {};
  for (const [name, quantity] of Object.entries(list ?? {}))
    amounts[name] = name === 'cpu' ? Math.ceil(milliValue(quantity)) : Math.ceil(parseQuantity(quantity));
  return amounts;
}

export function add(sum: Sum, amounts: Amounts, sign: 1 | -1 = 1): void {
  for (const [name, amount] of Object.entries(amounts)) sum[name] = (own(sum, name) ?? 0) + sign * amount;
}

function raiseTo(sum: Sum, amounts: Amounts): void {
  for (const [name, amount] of Object.entries(amounts)) sum[name] = Math.max(own(sum, name) ?? 0, amount);
}

/** A container with a limit but no request requests its limit. */
const requestsOf = (container: Container): Amounts =>
  amountsOf({ ...container.resources?.limits, ...container.resources?.requests });

const known = new WeakMap<PodSpec, Amounts>();
const knownScored = new WeakMap<PodSpec, Amounts>();

/** Requests that scores assume for a container without requests, so that nodes with many such pods count as busy. */
const SMALL: Amounts = { cpu: 100, memory: 200 * 2 ** 20 };

/**
 * Returns the resources that a pod needs on a node: the sum of its containers and sidecars, or its largest init
 * container with the sidecars that start before it, plus overhead. Pod-level requests replace the sum. `pods: 1` is
 * included.
 */
export function podRequests({ spec }: Pod): Amounts {
  const found = known.get(spec) ?? requestsOfSpec(spec);
  known.set(spec, found);
  return found;
}

/** Returns requests for scores. Containers without a request for CPU or memory count as small ones. */
export function scoredRequests({ spec }: Pod): Amounts {
  const found = knownScored.get(spec) ?? requestsOfSpec(spec, SMALL);
  knownScored.set(spec, found);
  return found;
}

/** @param missing assumed requests of containers without requests */
function requestsOfSpec(spec: PodSpec, missing: Amounts = {}): Amounts {
  const total: Sum = {};
  for (const container of spec.containers) add(total, { ...missing, ...requestsOf(container) });
  const sidecars: Sum = {};
  const starting: Sum = {};
  for (const container of spec.initContainers ?? []) {
    const requests = { ...missing, ...requestsOf(container) };
    if (container.restartPolicy === 'Always') {
      add(total, requests);
      add(sidecars, requests);
      raiseTo(starting, sidecars);
    } else {
      const beside: Sum = { ...sidecars };
      add(beside, requests);
      raiseTo(starting, beside);
    }
  }
  raiseTo(total, starting);
  Object.assign(total, amountsOf(spec.resources?.requests));
  add(total, amountsOf(spec.overhead));
  total.pods = 1;
  return total;
}
