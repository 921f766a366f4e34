/** Computes a lower bound of the price of plans. */
import { requestsOnNode, unitPrices, worthOf } from '../disruption/pricing/worth.ts';
import type { EnginePod } from '../input.ts';
import type { EngineSnapshot, Resources } from '../model.ts';
import { readableRequests } from '../placement-requests.ts';

/**
 * Returns the lowest price of a plan for all pods, in USD per hour: the cost of parts of nodes with enough CPU and memory.
 * Each pod may go to the cheapest NodePool, and the room of present nodes has no price.
 */
export function leastUsd(
  { pools, nodes }: Pick<EngineSnapshot, 'pools' | 'nodes'>,
  pods: readonly EnginePod[],
): number {
  const all = pods.map(readableRequests);
  const demand = { cpu: sumOf(all, ({ cpu }) => cpu), memory: sumOf(all, ({ memory }) => memory) };
  const prices = pools.map((pool) => unitPrices(pool, demand));
  const usdOf = (requests: Resources): number =>
    prices.reduce((least, each) => Math.min(least, worthOf(requests, each)), Number.POSITIVE_INFINITY);
  const room = sumOf(nodes, ({ allocatable: { cpu = 0, memory = 0 }, pods: running }) => {
    const used = requestsOnNode(running);
    return usdOf({ cpu: Math.max(0, cpu - (used.cpu ?? 0)), memory: Math.max(0, memory - (used.memory ?? 0)) });
  });
  return Math.max(0, sumOf(all, usdOf) - room);
}

const sumOf = <T>(items: readonly T[], amountOf: (item: T) => number | undefined): number =>
  items.reduce((sum, item) => sum + (amountOf(item) ?? 0), 0);
