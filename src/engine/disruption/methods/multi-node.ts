/** Removes several nodes in one command, with at most one replacement. */

import { consolidationPolicy } from '#api/values';
import { requirementsOf } from '../../instance-types.ts';
import type { InstanceType } from '../../model.ts';
import { extrasUsdPerHour, type NodeExtras } from '../../node-extras.ts';
import { LOOSE, Requirements } from '../../requirements.ts';
import { nodeSurplus } from '../candidates/disruption-cost.ts';
import { bySavings, type Candidate, type Command, isTooRisky, savingsOf } from '../command.ts';
import { wholePrefix } from '../gang-nodes.ts';
import {
  type DisruptionEvent,
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
import { byWasteRatio } from '../pricing/worth.ts';
import { groupsOf, movesOf } from './candidate-groups.ts';
import { consolidate, consolidationFilter, lostBy, poolApprovals, validateConsolidation } from './consolidation.ts';

const TIMEOUT_MS = 60_000;
/** Maximum size of a batch, minus one. The limit keeps single commands small. */
const BATCH = 100;
/** Limit for the work of the search beyond that of Karpenter; see `movesOf`. */
const MOST_MOVES = 20_000;

export const multiNode: Method = {
  name: 'multi-node consolidation',
  reason: 'Underutilized',
  class: 'graceful',
  consolidationType: 'multi',
  evaluates: 'sets',
  isSearch: true,
  validateAfterMs: VALIDATION_DELAY_MS,
  filter: consolidationFilter,
  decide,
  validate: validateConsolidation,
};

interface Search {
  readonly best?: {
    readonly command: Command;
    readonly views: readonly Evaluation[];
    readonly events: readonly DisruptionEvent[];
  };
  /** Evaluations of the last batch that reduces the cost but that a NodePool's `Balanced` policy rejects. */
  readonly rejected?: readonly Evaluation[];
  /** Evaluations of all batches that reduce the cost, in the order of this search. */
  readonly weighed: readonly Evaluation[];
  /** Size of the batch at which this search timed out. */
  readonly stoppedAt?: number;
}

const NOTHING: Search = { weighed: [] };

async function decide(input: MethodInput): Promise<MethodResult> {
  const { candidates, budgets, committed, gangs } = input;
  const { taken, skipped, constrained } = withinBudgets(bySavings(candidates, committed), budgets, gangs);
  const found = taken.length < 2 ? NOTHING : await searchAll(taken, input);
  const { best, rejected = [], stoppedAt, weighed } = found;
  const timeout = stoppedAt === undefined ? {} : { timeout: timeoutOf(best !== undefined, stoppedAt) };
  const reasons = overBudgets(skipped, 'Underutilized', gangs);
  if (best === undefined) {
    const events = poolApprovals(rejected.filter(({ approved }) => approved)); // of batches that another pool rejected
    return { commands: [], exhausted: !constrained, ...timeout, events, evaluations: rejected, weighed, reasons };
  }
  return {
    commands: [best.command],
    exhausted: false,
    ...timeout,
    events: [...best.events, ...poolApprovals(best.views)],
    evaluations: best.views,
    weighed,
    reasons,
  };
}

function timeoutOf(found: boolean, lastBatchSize: number): NonNullable<MethodResult['timeout']> {
  return found
    ? { message: 'stopping multi-node consolidation after timeout, returning last valid command', fields: {} }
    : {
        message: 'failed to find a multi-node consolidation after timeout',
        fields: { last_batch_size: lastBatchSize },
      };
}

/**
 * Searches the candidates in Karpenter's order, and then the candidates with the most waste, in groups with a common trait. Nodes
 * of different zones or NodePools can rarely be removed together, and one such node ends a run. Returns the command with the
 * highest savings.
 */
async function searchAll(candidates: readonly Candidate[], input: MethodInput): Promise<Search> {
  let found = await search(candidates, input);
  if (!consolidationPolicy(input.consolidation).searchesGroups) return found;
  let moves = MOST_MOVES;
  const { taken: wasteful } = withinBudgets(byWasteRatio(input.candidates, input), input.budgets, input.gangs);
  const isKnown = wasteful.every((candidate, at) => candidate === candidates[at]);
  for (const group of [...(isKnown ? [] : [wasteful]), ...groupsOf(wasteful, input.gangs)]) {
    const isFull = (found.best?.command.candidates.length ?? 0) > BATCH;
    if (isFull || moves <= 0 || found.stoppedAt !== undefined) break;
    const counted = counting(input);
    const other = await search(group, counted);
    moves -= counted.moves();
    found = { ...found, weighed: [...found.weighed, ...other.weighed] };
    if (other.best && (found.best === undefined || saves(other.best) > saves(found.best))) {
      found = { ...found, best: other.best };
    }
  }
  return found;
}

const saves = ({ command }: NonNullable<Search['best']>): number => savingsOf(command);

/** Returns the same input, but its simulations count the pods that they move. */
function counting(input: MethodInput): MethodInput & { readonly moves: () => number } {
  let moves = 0;
  return {
    ...input,
    moves: () => moves,
    simulate: (gone, options) => {
      moves += movesOf(gone);
      return input.simulate(gone, options);
    },
  };
}

/** Searches for the longest prefix of the candidates, best first, that can be removed together. */
async function search(candidates: readonly Candidate[], input: MethodInput): Promise<Search> {
  let found = NOTHING;
  let low = 1;
  let high = candidates.length <= BATCH ? candidates.length - 1 : BATCH;
  while (low <= high) {
    if (input.elapsedMs() >= TIMEOUT_MS) return { ...found, stoppedAt: high - low + 1 };
    const middle = Math.floor((low + high) / 2);
    const batch = wholePrefix(candidates, middle + 1, input.gangs);
    const { command, types = [], cheaper = [], events } = await consolidate(batch, input);
    const narrowed =
      command &&
      withoutOwnTypes(command, types, {
        cheaper,
        extrasOf: (name) => input.pools.get(name)?.extras,
        committed: input.committed,
      });
    const views = narrowed ? evaluate(narrowed, input) : [];
    found = { ...found, weighed: [...found.weighed, ...views] };
    if (narrowed && !isApproved(views)) found = { ...found, rejected: views };
    const priced = narrowed && isApproved(views) ? withWorth(narrowed, input) : undefined;
    if (priced === undefined || 'code' in priced) high = middle - 1;
    else {
      found = { ...found, best: { command: priced, views, events } };
      low = middle + 1;
    }
  }
  return found;
}

interface OwnTypes {
  /** Names of the types that are cheaper than all candidates together, regardless of the capacity types that may be launched. */
  readonly cheaper: readonly string[];
  readonly extrasOf: (nodePool: string) => NodeExtras | undefined;
  readonly committed: MethodInput['committed'];
}

/**
 * Limits the price of the replacement to less than the price of each candidate with a possible type. Otherwise, keeping that
 * node and removing the remaining candidates would be better.
 * @param types of the replacement's NodePool
 */
function withoutOwnTypes(
  command: Command,
  types: readonly InstanceType[],
  { cheaper, extrasOf, committed }: OwnTypes,
): Command | undefined {
  const [planned] = command.replacements;
  if (planned === undefined) return command;
  const lost = lostBy(command.candidates, committed);
  /** Returns the part that commitments would still cover if this node were kept and the remaining candidates were removed. */
  const lostWith = (candidate: Candidate): number =>
    lost === 0
      ? 0
      : lost -
        lostBy(
          command.candidates.filter((each) => each !== candidate),
          committed,
        );
  const prices = new Map<string, number>();
  for (const candidate of command.candidates) {
    const { instanceType, stateNode, nodePool } = candidate;
    if (instanceType === undefined) continue;
    const labels = Requirements.fromLabels(stateNode.labels);
    // available or not, because the node exists
    const own = instanceType.offerings.filter((offering) => labels.compatible(requirementsOf(offering), LOOSE));
    const instance = own.length === 0 ? 0 : Math.min(...own.map(({ usdPerHour }) => usdPerHour));
    const besides = nodeSurplus(stateNode.pods, instanceType) + extrasUsdPerHour(extrasOf(nodePool.metadata.name));
    const price = instance + besides - lostWith(candidate);
    prices.set(instanceType.name, Math.min(price, prices.get(instanceType.name) ?? price));
  }
  const limit = Math.min(...cheaper.flatMap((name) => prices.get(name) ?? []));
  const kept = Replacement.again(planned, types).cheaperThan(limit);
  if (typeof kept === 'string' || kept.count === 0) return undefined;
  const narrowed = { ...command, replacements: [kept.claim] };
  return isTooRisky(narrowed) ? undefined : narrowed;
}
