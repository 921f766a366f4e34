/**
 * Replaces several nodes by as many or fewer others that cost less together: what consolidation one by one, or into a
 * single node, cannot do. Comes after these, because it moves more pods for the money.
 */
import type { InstanceType, PlannedClaim } from '../model.ts';
import { type Evaluation, evaluate, isApproved } from './balance.ts';
import { bySavings, type Candidate } from './candidates.ts';
import { type Command, savingsOf } from './command.ts';
import {
  candidateNotes,
  consolidationFilter,
  poolApprovals,
  SPOT_FLEXIBILITY,
  validateConsolidation,
} from './consolidation.ts';
import { costOf, groupsOf, movesOf } from './groups.ts';
import {
  type Deliberation,
  type Findings,
  type Method,
  overBudgets,
  VALIDATION_DELAY_MS,
  withinBudgets,
} from './method.ts';
import { Replacement } from './pricefilter.ts';
import { byWaste } from './worth.ts';

const TIMEOUT_MS = 20_000;
/** Moving pods is not free: a swap that saves less of what its nodes cost is left alone. */
const LEAST_SAVINGS = 0.05;
/** A node stays out of a swap that saves this part without it. */
const WORTH_KEEPING = 0.98;
/** Sizes of the sets that are tried. */
const SIZES = [2, 3, 4, 6, 8, 12, 16, 24];
/** Work of one search; see `movesOf`. */
const MOST_MOVES = 10_000;
/** Sets for which the cheapest nodes are worked out. */
const MOST_TRIALS = 6;
/** New nodes are filled well, but not for any effort. */
const PACKING = { packing: 'cheapest', packingWork: 1_000_000 } as const;
/** The cheapest nodes cost about this part of those that are filled in the simple way. */
const BETTER_PACKING = 0.92;

export const swap: Method = {
  name: 'swap consolidation',
  reason: 'Underutilized',
  class: 'graceful',
  consolidationType: 'swap',
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

async function decide(deliberation: Deliberation): Promise<Findings> {
  const { taken, skipped, constrained } = withinBudgets(bySavings(deliberation.candidates), deliberation.budgets);
  const reasons = overBudgets(skipped, 'Underutilized');
  const search = new Search(deliberation);
  for (const set of setsOf(taken, deliberation)) await search.estimate(set);
  await search.tryBest();
  await search.shrink();
  const { best } = search;
  if (best === undefined) return { commands: [], exhausted: !constrained, notes: [], reasons };
  return {
    commands: [best.command],
    exhausted: false,
    notes: [...candidateNotes(best.command), ...poolApprovals(best.views)],
    evaluations: best.views,
    reasons,
  };
}

/** Keeps the best swap so far, as long as there is time and work left. */
class Search {
  best: Found | undefined;
  readonly #deliberation: Deliberation;
  #estimates: { readonly candidates: readonly Candidate[]; readonly usdPerHour: number }[] = [];
  #moves = MOST_MOVES;
  #trials = MOST_TRIALS;

  constructor(deliberation: Deliberation) {
    this.#deliberation = deliberation;
  }

  get #isLate(): boolean {
    return this.#deliberation.elapsedMs() >= TIMEOUT_MS;
  }

  get #saved(): number {
    return this.best === undefined ? 0 : savingsOf(this.best.command);
  }

  /** Guesses what a swap would save, from an experiment that fills new nodes in the simple way. */
  async estimate(candidates: readonly Candidate[]): Promise<void> {
    if (this.#moves <= 0 || this.#isLate) return;
    this.#moves -= movesOf(candidates);
    const options = { sparesQuietNodes: true, mostClaims: candidates.length };
    const simulation = await this.#deliberation.simulate(candidates, options);
    if (simulation === undefined || simulation.stranded.size > 0) return;
    const price = simulation.claims.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0);
    const usdPerHour = costOf(candidates) - price * BETTER_PACKING;
    if (usdPerHour > LEAST_SAVINGS * costOf(candidates)) this.#estimates.push({ candidates, usdPerHour });
  }

  /** Works out the most promising ones. */
  async tryBest(): Promise<void> {
    const inOrder = this.#estimates.toSorted((a, b) => b.usdPerHour - a.usdPerHour);
    for (const { candidates } of inOrder) {
      const found = await this.#trade(candidates);
      if (found !== undefined && savingsOf(found.command) > this.#saved) this.best = found;
    }
  }

  async #trade(candidates: readonly Candidate[]): Promise<Found | undefined> {
    if (this.#trials <= 0 || this.#isLate) return undefined;
    this.#trials--;
    return trade(candidates, this.#deliberation);
  }

  /** Leaves out nodes that bring next to nothing: their pods need not move. */
  async shrink(): Promise<void> {
    this.#trials = MOST_TRIALS;
    let part = Math.floor((this.best?.command.candidates.length ?? 0) / 2);
    for (; part >= 1 && this.best !== undefined; part = Math.floor(part / 2)) {
      const rest = this.best.command.candidates.slice(0, -part);
      const found = rest.length < 2 ? undefined : await this.#trade(rest);
      if (found !== undefined && savingsOf(found.command) >= this.#saved * WORTH_KEEPING) this.best = found;
    }
  }
}

/** Sets of nodes that cost much for what runs on them. */
function setsOf(candidates: readonly Candidate[], { pools }: Deliberation): readonly (readonly Candidate[])[] {
  const sets = new Map<string, readonly Candidate[]>();
  for (const [name, own] of Map.groupBy(candidates, ({ nodePool }) => nodePool.metadata.name)) {
    const pool = pools.get(name);
    if (pool === undefined) continue;
    const wasteful = byWaste(own, pool).map(({ candidate }) => candidate);
    for (const set of [wasteful, ...groupsOf(wasteful)].flatMap(partsOf))
      sets.set(set.map(({ providerId }) => providerId).join(' '), set);
  }
  return [...sets.values()];
}

/** The first few of a group, and then some more, in each size. */
function partsOf(group: readonly Candidate[]): readonly (readonly Candidate[])[] {
  return SIZES.flatMap((size) => {
    const parts: (readonly Candidate[])[] = [];
    for (let at = 0; at + 2 <= group.length && parts.length < 3; at += size) parts.push(group.slice(at, at + size));
    return parts;
  }).filter((part) => part.length > 1);
}

/** Takes the nodes away for others, if those are cheaper. */
async function trade(candidates: readonly Candidate[], deliberation: Deliberation): Promise<Found | undefined> {
  const options = { sparesQuietNodes: true, ...PACKING, mostClaims: candidates.length };
  const simulation = await deliberation.simulate(candidates, options);
  if (simulation === undefined || simulation.stranded.size > 0) return undefined;
  const { claims, plan, pools } = simulation;
  if (claims.length > candidates.length) return undefined;
  const typesOf = (name: string): readonly InstanceType[] =>
    pools.find(({ nodePool }) => nodePool.metadata.name === name)?.instanceTypes ?? [];
  const planned = claims.map((claim) => Replacement.of(claim, typesOf(claim.nodePool)));
  const replacements = cheaperTogether(planned, candidates, deliberation.spotToSpot);
  if (replacements === undefined) return undefined;
  const command: Command = { reason: 'Underutilized', candidates, plan, replacements };
  if (savingsOf(command) < LEAST_SAVINGS * costOf(candidates)) return undefined;
  const views = evaluate(command, deliberation.totals);
  return isApproved(views) ? { command, views } : undefined;
}

/**
 * The replacements narrowed so that, whatever is launched of each, all of them cost less than the candidates do. What is
 * to spare is shared out by price.
 */
export function cheaperTogether(
  planned: readonly Replacement[],
  candidates: readonly Candidate[],
  spotToSpot: boolean,
): readonly PlannedClaim[] | undefined {
  const allSpot = candidates.every(({ capacityType }) => capacityType === 'spot');
  const isSpotToSpot = (replacement: Replacement): boolean => allSpot && replacement.admits('spot');
  if (!spotToSpot && planned.some(isSpotToSpot)) return undefined;
  const bound = planned.map((replacement) => (isSpotToSpot(replacement) ? replacement.only('spot') : replacement));
  const least = bound.map(({ leastWorst }) => leastWorst);
  const stretch = costOf(candidates) / least.reduce((sum, price) => sum + price, 0);
  if (!(stretch > 1)) return undefined;
  const narrowed: PlannedClaim[] = [];
  for (const [at, replacement] of bound.entries()) {
    const kept = replacement.cheaperThan((least[at] ?? 0) * stretch);
    if (typeof kept === 'string' || kept.count === 0) return undefined;
    if (isSpotToSpot(replacement) && kept.count < SPOT_FLEXIBILITY) return undefined;
    // a spot launch that fails must not fall through to a dearer on-demand node
    narrowed.push((kept.admits('spot') && kept.admits('on-demand') ? kept.only('spot') : kept).claim);
  }
  return narrowed;
}
