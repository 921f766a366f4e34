/**
 * Replaces several nodes by several nodes that cost less together, which single-node and multi-node consolidation cannot do.
 * Runs after those methods, because it moves more pods for the same savings.
 */
import type { PackingLimit, PlannedClaim, PoolInput } from '../../model.ts';
import { coveredTypes, onDemandUsages } from '../../price-book/covered-types.ts';
import type { Ledger } from '../../price-book/ledger.ts';
import { addedRiskOf, type Candidate, type Command, savingsOf } from '../command.ts';
import { type Gangs, unitOf, wholeGangs } from '../gang-nodes.ts';
import {
  type Method,
  type MethodInput,
  type MethodResult,
  overBudgets,
  VALIDATION_DELAY_MS,
  withinBudgets,
} from '../method.ts';
import { type Evaluation, evaluate, isApproved } from '../pricing/balance.ts';
import { withWorth } from '../pricing/move-price.ts';
import { Replacement } from '../pricing/price-filter.ts';
import { byWaste, byWasteRatio } from '../pricing/worth.ts';
import { costOf, groupsOf } from './candidate-groups.ts';
import {
  candidateEvents,
  consolidationFilter,
  lostBy,
  poolApprovals,
  spotFlexibility,
  validateConsolidation,
  zoneShare,
} from './consolidation.ts';

const TIMEOUT_MS = 20_000;
/** Minimum savings as a part of the cost of the nodes. Smaller savings do not justify moving pods. */
const LEAST_SAVINGS = 0.05;
/** A node is removed from a swap if the swap saves at least this part without the node. */
const WORTH_KEEPING = 0.98;
/** Sizes of the sets that the search tries. */
const SIZES = [2, 3, 4, 6, 8, 12, 16, 24];
/** Number of sets of each size for which the cheapest nodes are computed. */
const TRIALS_PER_SIZE = 2;
/**
 * Maximum number of replacements per node. Small nodes are often the cheapest, but each has overhead for the system and for
 * daemons.
 */
const NODES_PER_NODE = 2;
/** Fills new nodes well, but with limited work. */
const PACKING = { packing: 'cheapest', packingWork: 1_000_000 } as const;

export const swap: Method = {
  name: 'swap consolidation',
  reason: 'Underutilized',
  class: 'graceful',
  consolidationType: 'swap',
  evaluates: 'sets',
  runsIn: ({ swapsNodes }) => swapsNodes,
  isSearch: true,
  validateAfterMs: VALIDATION_DELAY_MS,
  filter: consolidationFilter,
  decide,
  validate: (command, later) => validateConsolidation(command, later, PACKING),
};

interface Found {
  readonly command: Command;
  readonly views: readonly Evaluation[];
}

async function decide(input: MethodInput): Promise<MethodResult> {
  const { taken, skipped, constrained } = withinBudgets(
    byWasteRatio(input.candidates, input),
    input.budgets,
    input.gangs,
  );
  const reasons = overBudgets(skipped, 'Underutilized', input.gangs);
  const search = new Search(input);
  for (const set of setsOf(taken, input)) await search.look(set);
  await search.shrink();
  const { best } = search;
  if (best === undefined) return { commands: [], exhausted: !constrained, events: [], reasons };
  return {
    commands: [best.command],
    exhausted: false,
    events: [...candidateEvents(best.command), ...poolApprovals(best.views)],
    evaluations: best.views,
    reasons,
  };
}

/** Stores the best swap so far. */
class Search {
  best: Found | undefined;
  readonly #input: MethodInput;

  constructor(input: MethodInput) {
    this.#input = input;
  }

  get #saved(): number {
    return this.best === undefined ? 0 : savingsOf(this.best.command);
  }

  get #isLate(): boolean {
    return this.#input.elapsedMs() >= TIMEOUT_MS;
  }

  async look({ candidates, waste }: NodeSet): Promise<void> {
    const { tried, nowMs } = this.#input;
    if (waste <= this.#saved || tried?.has(candidates, nowMs)) return;
    const found = await this.#trade(candidates);
    if (found === undefined && !this.#isLate) tried?.add(candidates, nowMs);
    if (found !== undefined && savingsOf(found.command) > this.#saved) this.best = found;
  }

  /** Removes nodes that contribute almost no savings, so that their pods need not move. */
  async shrink(): Promise<void> {
    let part = Math.floor((this.best?.command.candidates.length ?? 0) / 2);
    for (; part >= 1 && this.best !== undefined; part = Math.floor(part / 2)) {
      const rest = wholeGangs(this.best.command.candidates.slice(0, -part), this.#input.gangs);
      const found = rest.length < 2 ? undefined : await this.#trade(rest);
      if (found !== undefined && savingsOf(found.command) >= this.#saved * WORTH_KEEPING) this.best = found;
    }
  }

  async #trade(candidates: readonly Candidate[]): Promise<Found | undefined> {
    if (this.#isLate) return undefined;
    return trade(candidates, this.#input);
  }
}

interface NodeSet {
  readonly candidates: readonly Candidate[];
  /** Cost of the nodes beyond the worth of their pods, in USD per hour. This is approximately the maximum savings of a swap. */
  readonly waste: number;
}

/** Returns sets of nodes with a high cost for their pods: the most promising sets of each size, most waste first. */
function setsOf(candidates: readonly Candidate[], { pools, committed, gangs }: MethodInput): readonly NodeSet[] {
  const sets = new Map<string, NodeSet>();
  for (const [name, own] of Map.groupBy(candidates, ({ nodePool }) => nodePool.metadata.name)) {
    const pool = pools.get(name);
    if (pool === undefined) continue;
    const wasteful = byWaste(own, pool, committed);
    const wasteOf = new Map(wasteful.map(({ candidate, usdPerHour }) => [candidate, usdPerHour]));
    const inOrder = wasteful.map(({ candidate }) => candidate);
    const parts = [inOrder, ...groupsOf(inOrder)].flatMap(partsOf).map((part) => wholeGangs(part, gangs));
    for (const set of [...parts, ...unitsIn(inOrder, gangs)]) {
      if (set.length < 2) continue;
      const waste = set.reduce((sum, candidate) => sum + (wasteOf.get(candidate) ?? 0), 0);
      sets.set(set.map(({ providerId }) => providerId).join(' '), { candidates: set, waste });
    }
  }
  const byWasteOfAll = [...sets.values()].sort((a, b) => b.waste - a.waste);
  const bySize = Map.groupBy(byWasteOfAll, (set) => set.candidates.length);
  const chosen = new Set([...bySize.values()].flatMap((same) => same.slice(0, TRIALS_PER_SIZE)));
  return byWasteOfAll.filter((set) => chosen.has(set));
}

/** Returns the nodes of each gang, if all of them are candidates. */
const unitsIn = (candidates: readonly Candidate[], gangs: Gangs | undefined): readonly (readonly Candidate[])[] => [
  ...new Set(wholeGangs(candidates, gangs).map((candidate) => unitOf(candidate, gangs))),
];

/** Returns the first candidates of a group, in each size. */
const partsOf = (group: readonly Candidate[]): readonly (readonly Candidate[])[] =>
  SIZES.filter((size) => size <= group.length).map((size) => group.slice(0, size));

/** Simulates the replacement of the nodes. Returns the swap if the replacements are sufficiently cheaper. */
async function trade(candidates: readonly Candidate[], input: MethodInput): Promise<Found | undefined> {
  const options = {
    sparesQuietNodes: true,
    ...PACKING,
    mostClaims: NODES_PER_NODE * candidates.length,
    ...(input.committed === undefined && { packingLimit: limitFor(candidates, input.spotToSpot) }),
  };
  const simulation = await input.simulate(candidates, options);
  if (simulation === undefined || simulation.stranded.size > 0) return undefined;
  const { claims, plan, pools } = simulation;
  if (claims.length > NODES_PER_NODE * candidates.length) return undefined;
  const planned = atPrices(claims, pools, input.committed?.leftWithout(candidates.map(({ providerId }) => providerId)));
  const lostUsdPerHour = lostBy(candidates, input.committed);
  const preferencesUsdPerHour = plan.preferences?.lostUsdPerHour ?? 0;
  const usdPerHour = costOf(candidates) - lostUsdPerHour - preferencesUsdPerHour;
  const replacements = cheaperTogether(planned, candidates, input, usdPerHour);
  if (replacements === undefined) return undefined;
  const command: Command = {
    reason: 'Underutilized',
    candidates,
    plan,
    replacements,
    ...(lostUsdPerHour > 0 && { lostUsdPerHour }),
    ...(preferencesUsdPerHour > 0 && { preferencesUsdPerHour }),
  };
  const leastSavings = Math.max(LEAST_SAVINGS, zoneShare(candidates, replacements, input));
  if (savingsOf(command) - addedRiskOf(command) < leastSavings * costOf(candidates)) return undefined;
  const priced = withWorth(command, input);
  if ('code' in priced) return undefined;
  const views = evaluate(priced, input);
  return isApproved(views) ? { command: priced, views } : undefined;
}

/** Returns the limit beyond which `trade` would reject the replacements in any case. */
function limitFor(candidates: readonly Candidate[], spotToSpot: boolean): PackingLimit {
  const risk = candidates.reduce((sum, { spotRiskUsdPerHour }) => sum + spotRiskUsdPerHour, 0);
  const usdPerHour = (1 - LEAST_SAVINGS) * costOf(candidates) + risk;
  return !spotToSpot && areAllSpot(candidates) ? { usdPerHour, avoided: 'spot' } : { usdPerHour };
}

const areAllSpot = (candidates: readonly Candidate[]): boolean =>
  candidates.every(({ capacityType }) => capacityType === 'spot');

/**
 * Returns the replacements with the amount that each adds to the bill, assuming that the replacements before it use as much of
 * the commitments as they can.
 */
function atPrices(
  claims: readonly PlannedClaim[],
  pools: readonly PoolInput[],
  ledger: Ledger | undefined,
): readonly Replacement[] {
  return claims.map((claim) => {
    const types = pools.find(({ nodePool }) => nodePool.metadata.name === claim.nodePool)?.instanceTypes ?? [];
    const replacement = Replacement.of(claim, ledger === undefined ? types : coveredTypes(types, ledger));
    ledger?.takeMost(replacement.types.flatMap((type) => onDemandUsages(types, type.name)));
    return replacement;
  });
}

/**
 * Narrows the replacements so that all of them together cost less than the candidates, whichever type is launched for each. A
 * replacement avoids a zone that is more expensive. If a spot node replaces spot nodes, the replacement must have many types, as
 * in single-node consolidation. The difference in price is divided among the replacements in proportion to their prices.
 */
export function cheaperTogether(
  planned: readonly Replacement[],
  candidates: readonly Candidate[],
  input: Pick<MethodInput, 'spotToSpot' | 'pools'>,
  usdPerHour = costOf(candidates),
): readonly PlannedClaim[] | undefined {
  const allSpot = areAllSpot(candidates);
  const isSpotToSpot = (replacement: Replacement): boolean => allSpot && replacement.admits('spot');
  if (!input.spotToSpot && planned.some(isSpotToSpot)) return undefined;
  const flexibilityOf = (replacement: Replacement): number =>
    isSpotToSpot(replacement) ? spotFlexibility(replacement.claim, input) : 1;
  const bound = planned.map((replacement) =>
    (isSpotToSpot(replacement) ? replacement.only('spot') : replacement).inCheapestZone(flexibilityOf(replacement)),
  );
  const least = bound.map((replacement) => replacement.worstOf(flexibilityOf(replacement)));
  const stretch = usdPerHour / least.reduce((sum, price) => sum + price, 0);
  if (!(stretch > 1)) return undefined;
  const narrowed: PlannedClaim[] = [];
  for (const [at, replacement] of bound.entries()) {
    const limit = (least[at] ?? 0) * stretch;
    const kept = replacement.cheaperThan(limit);
    if (typeof kept === 'string' || kept.count < flexibilityOf(replacement)) return undefined;
    const bought = kept.spotOrOnDemand(limit);
    if (typeof bought === 'string') return undefined;
    narrowed.push(bought.claim);
  }
  return narrowed;
}
