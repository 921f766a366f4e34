/** Computes the acceptable extra cost of a packing with fewer nodes than the cheapest packing. */
import type { NodeSaving } from '../purchase.ts';
import { type Bin, costOf } from './problem.ts';

/**
 * Value of a saved node, in small pods. Each node ends with some room that is too small for another pod, and completely filled
 * nodes have no room for later pods. The value was determined by measurement (docs/decisions/0047).
 */
const SMALL_PODS = 2;
/** Quantile of pods that count as small: a small pod costs less than three of four pods. */
const SMALL = 0.25;
/** Maximum extra cost for fewer nodes, as a part of the price. */
const MOST = 0.05;

/**
 * @param usdLimit maximum cost of all nodes, in USD per hour; fewer nodes never make a plan exceed this limit if the plan was
 * below it
 */
export function nodeSavingOf(cheapest: readonly Bin[], usdLimit: number): NodeSaving {
  const leastUsd = costOf(cheapest);
  return {
    usdPerNode: SMALL_PODS * smallPodUsd(cheapest),
    mostUsdPerHour: Math.min(leastUsd * (1 + MOST), Math.max(leastUsd, usdLimit)),
  };
}

/** Returns the cost of a small pod in USD per hour, if the pods of a node share its cost equally. */
function smallPodUsd(bins: readonly Bin[]): number {
  const shares = bins
    .map(({ price, counts, copies }) => {
      const pods = counts.reduce((sum, count) => sum + count, 0);
      return { usd: price / pods, pods: pods * copies };
    })
    .sort((a, b) => a.usd - b.usd);
  let rest = SMALL * shares.reduce((sum, { pods }) => sum + pods, 0);
  for (const { usd, pods } of shares) {
    rest -= pods;
    if (rest <= 0) return usd;
  }
  return 0;
}
