/**
 * Divides the cost of a node among its pods by OpenCost's rule for known node prices. The price is split over the node's CPU,
 * memory and accelerators in the ratio of their usual prices. Each pod pays its requested part of each resource. The part that
 * no pod requests is idle.
 */
import type { Resources } from '../model.ts';
import { amountIn } from '../resources.ts';

/** Billionths of a USD per hour. Integers, so that the sum of shares is exactly the amount. */
export type NanoUsd = number;

export const nanoUsd = (usdPerHour: number): NanoUsd => Math.round(usdPerHour * 1e9);
export const usdOf = (nano: NanoUsd): number => nano / 1e9;

/** Default prices of OpenCost, in USD per hour. Only their ratio matters. */
const UNIT_PRICES = { vcpu: 0.031611, gibibyte: 0.004237, accelerator: 0.95 };

const GIBIBYTE = 2 ** 30;
const ACCELERATORS: readonly string[] = [
  'nvidia.com/gpu',
  'amd.com/gpu',
  'habana.ai/gaudi',
  'aws.amazon.com/neuron',
  'aws.amazon.com/neuroncore',
];

/** Resource over which a node's price is split. */
interface Part {
  readonly resource: string;
  readonly capacity: number;
  /** Share of the price. The sum over all parts is 1. */
  readonly weight: number;
}

/**
 * Returns the resources over which a node's price is split. If pods request more than the node has, the requests determine the
 * capacity.
 */
function partsOf(allocatable: Resources, requests: readonly Resources[]): readonly Part[] {
  const capacityOf = (resource: string): number =>
    Math.max(
      amountIn(allocatable, resource),
      requests.reduce((sum, each) => sum + amountIn(each, resource), 0),
    );
  // devices and their cores are two names of the same hardware, so the price is split over the name that is in use
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
 * Returns the share of a node's cost for each request, from 0 to 1, in the given order. The sum is at most 1, and the rest is
 * idle.
 */
export function sharesOf(allocatable: Resources, requests: readonly Resources[]): readonly number[] {
  const parts = partsOf(allocatable, requests);
  return requests.map((each) =>
    parts.reduce((sum, { resource, capacity, weight }) => sum + (weight * amountIn(each, resource)) / capacity, 0),
  );
}

/** Divides an amount by shares. Returns the parts and the rest, which are integers with exactly the amount as their sum. */
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
