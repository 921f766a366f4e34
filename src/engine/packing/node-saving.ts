/** What it may cost to have fewer nodes than the cheapest packing. */
import type { NodeSaving } from '../purchase.ts';
import { type Bin, costOf } from './problem.ts';

/**
 * What a node saved is worth, in small pods: each node ends with room that is too small for another pod, and of nodes that
 * are filled to the last there is none for pods that come later. Found by measuring (docs/decisions/0047).
 */
const SMALL_PODS = 2;
/** A small pod: one that costs less to house than three of four. */
const SMALL = 0.25;
/** Fewer nodes cost at most so much of the price. */
const MOST = 0.05;

/** @param usdLimit what all nodes may cost to be of use, USD per hour: fewer nodes never make a plan too dear that is not */
export function nodeSavingOf(cheapest: readonly Bin[], usdLimit: number): NodeSaving {
  const leastUsd = costOf(cheapest);
  return {
    usdPerNode: SMALL_PODS * smallPodUsd(cheapest),
    mostUsdPerHour: Math.min(leastUsd * (1 + MOST), Math.max(leastUsd, usdLimit)),
  };
}

/** What it costs to house a small pod where pods of a node have equal shares, USD per hour. */
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
