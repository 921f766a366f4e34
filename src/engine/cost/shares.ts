/**
 * How the cost of a node is shared among what it holds, by OpenCost's rule for known node prices: the price is split over
 * the node's CPU, memory and accelerators in the ratio of their usual prices, and of each a pod pays the part that it
 * requests. What nobody requests is idle.
 */
import type { Resources } from '../model.ts';
import { amountIn } from '../resources.ts';

/** Billionths of a USD per hour. Integers, so that shares add up exactly to what they are shares of. */
export type NanoUsd = number;

export const nanoUsd = (usdPerHour: number): NanoUsd => Math.round(usdPerHour * 1e9);
export const usdOf = (nano: NanoUsd): number => nano / 1e9;

/** USD per hour, as OpenCost's default prices have them. Only their ratio counts. */
const UNIT_PRICES = { vcpu: 0.031611, gibibyte: 0.004237, accelerator: 0.95 };

const GIBIBYTE = 2 ** 30;
const ACCELERATORS: readonly string[] = [
  'nvidia.com/gpu',
  'amd.com/gpu',
  'habana.ai/gaudi',
  'aws.amazon.com/neuron',
  'aws.amazon.com/neuroncore',
];

/** A resource that a node's price is split over. */
interface Part {
  readonly resource: string;
  readonly capacity: number;
  /** Its share of the price, of all parts together 1. */
  readonly weight: number;
}

/** What a node's price is split over. What pods request beyond what the node offers counts as offered. */
function partsOf(allocatable: Resources, requests: readonly Resources[]): readonly Part[] {
  const capacityOf = (resource: string): number =>
    Math.max(
      amountIn(allocatable, resource),
      requests.reduce((sum, each) => sum + amountIn(each, resource), 0),
    );
  // devices and their cores are two names of the same thing: a node's price is split over the one that is in use
  const [accelerator] = ACCELERATORS.map((resource) => ({
    resource,
    capacity: capacityOf(resource),
    requested: requests.reduce((sum, each) => sum + amountIn(each, resource), 0),
  }))
    .filter(({ capacity }) => capacity > 0)
    .sort((a, b) => b.requested / b.capacity - a.requested / a.capacity);
  const devices = Math.min(...ACCELERATORS.map(capacityOf).filter((capacity) => capacity > 0));
  const priced = [
    { resource: 'cpu', capacity: capacityOf('cpu'), usd: (capacityOf('cpu') / 1_000) * UNIT_PRICES.vcpu },
    {
      resource: 'memory',
      capacity: capacityOf('memory'),
      usd: (capacityOf('memory') / GIBIBYTE) * UNIT_PRICES.gibibyte,
    },
    ...(accelerator === undefined ? [] : [{ ...accelerator, usd: devices * UNIT_PRICES.accelerator }]),
  ].filter(({ capacity }) => capacity > 0);
  const total = priced.reduce((sum, { usd }) => sum + usd, 0);
  return priced.map(({ resource, capacity, usd }) => ({ resource, capacity, weight: usd / total }));
}

/**
 * The share of a node's cost that each request pays, from 0 to 1 in the order given; together at most 1, and the rest is
 * idle.
 */
export function sharesOf(allocatable: Resources, requests: readonly Resources[]): readonly number[] {
  const parts = partsOf(allocatable, requests);
  return requests.map((each) =>
    parts.reduce((sum, { resource, capacity, weight }) => sum + (weight * amountIn(each, resource)) / capacity, 0),
  );
}

/** An amount by its shares, and what is left of it. All are integers and together exactly the amount. */
export function divided(
  amount: NanoUsd,
  shares: readonly number[],
): { readonly paid: readonly NanoUsd[]; readonly rest: NanoUsd } {
  let sum = 0;
  let given = 0;
  const paid = shares.map((share) => {
    sum = Math.min(1, sum + share);
    const before = given;
    given = Math.round(amount * sum);
    return given - before;
  });
  return { paid, rest: amount - given };
}
