/**
 * Searches for a cheap packing within a work limit. First constructs the packing several times, each time with a better estimate
 * of the worth of pods. Then repeatedly takes a few nodes apart and keeps cheaper results. If nodes have costs besides their
 * instances, a second search adds a surcharge to each node, and may find a plan with fewer nodes.
 */
import { pseudoRandom } from '../pseudo-random.ts';
import { isBetter, type NodeSaving, type Purchase, savesNodes } from '../purchase.ts';
import { nodeSavingOf } from './node-saving.ts';
import { type Bin, costOf, nodesOf, type Problem, worthOf } from './problem.ts';
import { type SearchBudget, Shop } from './shop.ts';

/** Number of constructions of each search. The second search mostly improves the plan of the first one. */
const ROUNDS = 12;
const ROUNDS_OF_SECOND = 6;
/** Work limit of each search, in checks of one kind for one node. Each check takes about 20 ns. */
export const DEFAULT_WORK = 3_000_000;
/** Number of consecutive unsuccessful attempts, per node, that ends the search. A few nodes have few combinations. */
const PATIENCE_PER_NODE = 50;
const MOST_PATIENCE = 150;
/** An existing plan is improved if it costs at most this factor times the constructed plan. */
const PROMISING = 1.1;
/** Maximum number of nodes of a plan that is improved. */
const MAX_SINGLE_NODES = 2_000;

export interface SearchOptions {
  /** Work limit of each search, in checks of one kind for one node. */
  readonly work?: number | undefined;
  /**
   * Relative difference in price within which plans count as equal, so that the plan with fewer nodes wins. 0 if nodes have no
   * costs besides their instances, so that the cheapest plan wins.
   */
  readonly indifference: number;
  /** Existing plan. The search also tries to improve this plan. */
  readonly present?: readonly Bin[] | undefined;
  /** Maximum useful cost of all nodes, in USD per hour. Default: no limit. */
  readonly usdLimit?: number | undefined;
  /** Returns true if the time is over. The search then ends with its current result. */
  readonly isLate: () => boolean;
}

export interface Packing {
  readonly bins: readonly Bin[];
  /** Second-best plan, which may satisfy limits that the best plan violates. */
  readonly other: readonly Bin[];
  /** Acceptable cost of fewer nodes. Undefined if the cheapest plan wins. */
  readonly saving: NodeSaving | undefined;
}

export function bestPacking(problem: Problem, options: SearchOptions): Packing | undefined {
  const { indifference, work = DEFAULT_WORK, isLate } = options;
  const budget: SearchBudget = { left: work, isLate };
  const means = { problem, options, budget, shop: new Shop(problem, budget) };
  const cheapest = searched(means, { usdPerNode: 0, mostUsd: Number.POSITIVE_INFINITY, starts: [] });
  if (cheapest === undefined) return undefined;
  // if the cheapest plan wins, the second search only has other starts, so it must not depend on the limit
  const isCheapest = indifference === 0;
  const saving = nodeSavingOf(cheapest, (isCheapest ? undefined : options.usdLimit) ?? Number.POSITIVE_INFINITY);
  const terms = { saving: isCheapest ? undefined : saving };
  if (nodesOf(cheapest) === 1) return { bins: cheapest, other: cheapest, ...terms };
  budget.left = work;
  const fewer =
    searched(means, { usdPerNode: saving.usdPerNode, mostUsd: saving.mostUsdPerHour, starts: [cheapest] }) ?? cheapest;
  const [bins, other] = isPreferred(fewer, cheapest, { indifference, ...terms })
    ? [fewer, cheapest]
    : [cheapest, fewer];
  return { bins, other, ...terms };
}

interface Preference extends Pick<SearchOptions, 'indifference'> {
  readonly saving: NodeSaving | undefined;
}

/**
 * Returns true if the first plan saves enough nodes or is better. Each search may find plans that the other search does not
 * find.
 */
function isPreferred(one: readonly Bin[], other: readonly Bin[], { indifference, saving }: Preference): boolean {
  const [a, b] = [purchaseOf(one), purchaseOf(other)];
  return (saving !== undefined && savesNodes(a, b, saving)) || isBetter(a, b, indifference);
}

const purchaseOf = (bins: readonly Bin[]): Purchase => ({
  usdPerHour: costOf(bins),
  nodes: nodesOf(bins),
  instanceTypes: new Set(bins.map(({ row }) => row)).size,
});

interface Means {
  readonly problem: Problem;
  readonly options: SearchOptions;
  readonly budget: SearchBudget;
  readonly shop: Shop;
}

interface Terms {
  /** Surcharge of each node besides its price, in USD per hour. */
  readonly usdPerNode: number;
  /** Maximum cost of all nodes, in USD per hour. */
  readonly mostUsd: number;
  /** Plans within this cost. */
  readonly starts: readonly (readonly Bin[])[];
}

/** Returns the best improvement of several plans within the terms. */
function searched(means: Means, terms: Terms): readonly Bin[] | undefined {
  const { present } = means.options;
  const found = constructed(means, terms.usdPerNode);
  if (found === undefined) return undefined;
  const counted = (bins: readonly Bin[]): number => countedCost(bins, found.surcharge);
  const isPromising = present !== undefined && counted(present) <= PROMISING * counted(found.bins);
  return [found.bins, ...terms.starts, ...(isPromising ? [present] : [])]
    .map((bins) => improved(means, { ...found, bins }, terms.mostUsd))
    .filter((bins) => costOf(bins) <= terms.mostUsd)
    .toSorted((a, b) => counted(a) - counted(b))[0];
}

interface Found {
  readonly bins: readonly Bin[];
  readonly worth: Float64Array;
  /**
   * Surcharge for each node. It includes `indifference` times the mean price of a node, so that a plan with fewer nodes wins
   * if the extra cost per saved node is below this amount. The extra cost is therefore at most `indifference` of the total.
   */
  readonly surcharge: number;
}

function constructed({ problem, shop, options }: Means, usdPerNode: number): Found | undefined {
  const { indifference, isLate } = options;
  const rounds = usdPerNode > 0 ? ROUNDS_OF_SECOND : ROUNDS;
  const counts = Int32Array.from(problem.kinds, ({ count }) => count);
  let worth = shop.ownWorth;
  let best: Found | undefined;
  for (let round = 0; round < rounds && !isLate(); round++) {
    const filling = round % 3 === 2 ? 'dearest' : 'scarcity';
    const bins = shop.buy({
      counts,
      worth,
      filling,
      surcharge: best?.surcharge ?? usdPerNode,
      usdLimit: Number.POSITIVE_INFINITY,
      considered: undefined,
    });
    if (bins === undefined) break;
    const surcharge = best?.surcharge ?? usdPerNode + (indifference * costOf(bins)) / nodesOf(bins);
    if (best === undefined || countedCost(bins, surcharge) < countedCost(best.bins, surcharge))
      best = { bins, worth, surcharge };
    worth = adapted(worth, bins, problem);
  }
  return best;
}

const countedCost = (bins: readonly Bin[], surcharge: number): number => costOf(bins) + surcharge * nodesOf(bins);

/** Raises the worth of pods on expensive nodes, so that the next construction handles them earlier. */
function adapted(worth: Float64Array, bins: readonly Bin[], { kinds }: Problem): Float64Array {
  const paid = new Float64Array(worth.length);
  for (const { counts, price, copies } of bins) {
    const usdPerWorth = (copies * price) / worthOf(counts, worth);
    for (let kind = 0; kind < counts.length; kind++) {
      const count = counts[kind] as number;
      if (count > 0) paid[kind] = (paid[kind] as number) + usdPerWorth * count * (worth[kind] as number);
    }
  }
  const next = new Float64Array(worth.length);
  for (let kind = 0; kind < worth.length; kind++)
    next[kind] = ((worth[kind] as number) + (paid[kind] as number) / Math.max(1, kinds[kind]?.count ?? 1)) / 2;
  return next;
}

/** @param mostUsd maximum cost of a modified plan, in USD per hour */
function improved(
  { problem, shop, budget }: Means,
  { bins, worth, surcharge }: Found,
  mostUsd: number,
): readonly Bin[] {
  const count = nodesOf(bins);
  if (count < 2 || count > MAX_SINGLE_NODES || budget.left <= 0) return bins;
  const ranked = (some: readonly Bin[]): readonly RankedNode[] =>
    some.flatMap((bin) => {
      const node = { bin: { ...bin, copies: 1 }, ratio: (bin.price + surcharge) / worthOf(bin.counts, worth) };
      return Array.from({ length: bin.copies }, () => node);
    });
  let nodes = ranked(bins).toSorted(byRatio);
  let usd = costOf(bins);
  const random = pseudoRandom(problem.kinds.length * 7919 + count);
  const considered = new Uint8Array(problem.capacities.length);
  const patience = Math.min(MOST_PATIENCE, PATIENCE_PER_NODE * count);
  for (let vain = 0; vain < patience && budget.left > 0 && !budget.isLate(); vain++) {
    const chosen = drawnNodes(nodes.length, random);
    const before = [...chosen].map((at) => (nodes[at] as RankedNode).bin);
    drawRows(considered, { rows: shop.rows, before, random });
    const after = shop.buy({
      counts: sumOf(before),
      worth: variedWorth(worth, random),
      filling: random() < 0.3 ? 'dearest' : 'scarcity',
      surcharge,
      usdLimit: countedCost(before, surcharge) * (1 - 1e-9),
      considered,
    });
    if (after === undefined) continue;
    const would = usd - costOf(before) + costOf(after);
    if (would > Math.max(usd, mostUsd)) continue;
    usd = would;
    nodes = [...nodes.filter((_, at) => !chosen.has(at)), ...ranked(after)].sort(byRatio);
    vain = 0;
  }
  return nodes.map(({ bin }) => bin);
}

type Random = () => number;

/** Returns the positions of two to seven nodes. Expensive nodes come first, and squaring draws them more often. */
function drawnNodes(count: number, random: Random): ReadonlySet<number> {
  const size = Math.min(count, 2 + Math.floor(random() * 6));
  const chosen = new Set<number>();
  while (chosen.size < size) chosen.add(Math.floor(random() ** 2 * count));
  return chosen;
}

interface RowDraw {
  readonly rows: readonly number[];
  /** Nodes whose rows are always considered. */
  readonly before: readonly Bin[];
  readonly random: Random;
}

function drawRows(considered: Uint8Array, { rows, before, random }: RowDraw): void {
  const share = 0.2 + 0.8 * random();
  for (let at = 0; at < rows.length; at++) considered[rows[at] as number] = random() < share ? 1 : 0;
  for (const { row } of before) considered[row] = 1;
}

function variedWorth(worth: Float64Array, random: Random): Float64Array {
  const varied = new Float64Array(worth.length);
  for (let kind = 0; kind < worth.length; kind++) varied[kind] = (worth[kind] as number) * (0.7 + 0.6 * random());
  return varied;
}

/** Node with its price per worth. */
interface RankedNode {
  readonly bin: Bin;
  readonly ratio: number;
}

const byRatio = (a: RankedNode, b: RankedNode): number => b.ratio - a.ratio;

function sumOf(bins: readonly Bin[]): Int32Array {
  const sum = new Int32Array(bins[0]?.counts.length ?? 0);
  for (const { counts } of bins)
    for (let kind = 0; kind < sum.length; kind++) sum[kind] = (sum[kind] as number) + (counts[kind] as number);
  return sum;
}
