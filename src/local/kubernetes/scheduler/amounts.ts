/** Resource amounts as whole numbers, so that sums stay exact: CPU in thousandths, everything else in base units. */
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

/** A container that only sets a limit requests as much. */
const requestsOf = (container: Container): Amounts =>
  amountsOf({ ...container.resources?.limits, ...container.resources?.requests });

const known = new WeakMap<PodSpec, Amounts>();
const knownScored = new WeakMap<PodSpec, Amounts>();

/** Requests of a container that sets none, for scores: nodes with many such pods count as busy. */
const SMALL: Amounts = { cpu: 100, memory: 200 * 2 ** 20 };

/**
 * What a pod takes from a node: its containers and sidecars together, or its largest init container beside the
 * sidecars started before it, plus overhead; requests of the whole pod replace the sum. `pods: 1` is included.
 */
export function podRequests({ spec }: Pod): Amounts {
  const found = known.get(spec) ?? requestsOfSpec(spec);
  known.set(spec, found);
  return found;
}

/** Requests for scores: containers without a request for CPU or memory count as small ones. */
export function scoredRequests({ spec }: Pod): Amounts {
  const found = knownScored.get(spec) ?? requestsOfSpec(spec, SMALL);
  knownScored.set(spec, found);
  return found;
}

/** @param missing requests of containers that do not set them */
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
