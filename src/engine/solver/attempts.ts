/**
 * If topology allows several equal domains, the choice determines the price for later pods. Small solves therefore run several
 * attempts with different choices. If NodePools of equal weight have different prices, one more attempt prefers the cheapest
 * NodePools. The cheapest plan is used.
 */

import type { Plan, SolveOptions } from '../model.ts';
import { pseudoRandom } from '../pseudo-random.ts';
import { indifferenceOf, isBetter, nodeUsdPerHour, type Purchase } from '../purchase.ts';
import { cheapestFirst, type TieBreak } from './ties.ts';

/** Choices of one attempt. */
export interface Choices {
  readonly tieBreak: TieBreak;
  /** True if the cheapest of several NodePools of equal weight is used, rather than the first one. */
  readonly prefersCheapPools: boolean;
}

export interface Attempt {
  readonly plan: Plan;
  /** Number of choices between domains with different price levels. */
  readonly ties: number;
}

/** Returns the number of attempts for a number of pods. The limits keep the sum of all attempts fast. */
const attemptsFor = (pods: number): number => (pods <= 500 ? 6 : pods <= 2_000 ? 3 : 1);

const dearestFirst: TieBreak = (count) => count - 1;

function anyOf(seed: number): TieBreak {
  const random = pseudoRandom(seed);
  return (count) => Math.floor(random() * count);
}

interface Terms {
  /** Number of pods. */
  readonly pods: number;
  /** True if NodePools of equal weight have different prices for a pod. */
  readonly hasRivals: boolean;
}

export function cheapestOf(
  attempt: (choices: Choices) => Attempt,
  { pods, hasRivals }: Terms,
  { deadlineMs, elapsedMs, reservedMode }: SolveOptions,
): Plan {
  const first = attempt({ tieBreak: cheapestFirst, prefersCheapPools: false });
  const inTime = (): boolean =>
    deadlineMs === undefined || elapsedMs === undefined || elapsedMs() < deadlineMs / attemptsFor(0);
  let best = first;
  // not as arguments of one call, because there may be more claims than a call accepts
  const extras = first.plan.claims.reduce((most, { extrasUsdPerHour = 0 }) => Math.max(most, extrasUsdPerHour), 0);
  const indifference = indifferenceOf(extras);
  const improve = (choices: Choices): boolean => {
    const other = attempt(choices);
    if (!leavesAsMuch(other.plan, first.plan)) return false;
    if (!isBetter(purchaseOf(other.plan), purchaseOf(best.plan), indifference)) return false;
    best = other;
    return true;
  };
  const prefersCheapPools = hasRivals && inTime() && improve({ tieBreak: cheapestFirst, prefersCheapPools: true });
  // disruption runs hundreds of simulations, so each must be quick
  const attempts = best.ties === 0 || reservedMode === 'fallback' ? 1 : attemptsFor(pods);
  for (let count = 1; count < attempts && inTime(); count++)
    improve({ tieBreak: count === 1 ? dearestFirst : anyOf(count), prefersCheapPools });
  return best.plan;
}

/** Returns true if exactly the same pods stay pending, because prices must not decide which pods are placed. */
const leavesAsMuch = (plan: Plan, other: Plan): boolean =>
  plan.notEvaluated.length === 0 &&
  plan.refusals.size === other.refusals.size &&
  [...plan.refusals.keys()].every((pod) => other.refusals.has(pod));

const purchaseOf = ({ claims }: Plan): Purchase => ({
  usdPerHour: claims.reduce((sum, claim) => sum + nodeUsdPerHour(claim) + (claim.spotRiskUsdPerHour ?? 0), 0),
  nodes: claims.length,
  instanceTypes: new Set(claims.map(({ cheapest }) => cheapest)).size,
});
