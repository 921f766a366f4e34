/**
 * Looks for a cheap packing within a budget of work: constructs it several times, each time with a better estimate of
 * what pods are worth; then takes a few nodes apart again and again and keeps what comes out cheaper. Where nodes cost
 * something besides their instances a second search counts each node as dearer, and may find a plan with fewer nodes.
 */
import { pseudoRandom } from '../pseudo-random.ts';
import { isBetter, type NodeSaving, type Purchase, savesNodes } from '../purchase.ts';
import { nodeSavingOf } from './node-saving.ts';
import { type Bin, costOf, nodesOf, type Problem } from './problem.ts';
import { type SearchBudget, Shop } from './shop.ts';

const ROUNDS = 24;
/** Looks at one kind for one node; some 20 ns each. */
const WORK = 6_000_000;
/** Vain attempts at an improvement after which the search ends: of few nodes there is little to choose from. */
const PATIENCE_PER_NODE = 50;
const MOST_PATIENCE = 400;
/** A plan that there is already is improved when it costs no more than this times the one constructed. */
const PROMISING = 1.1;
/** More nodes than these are not taken apart. */
const MAX_SINGLE_NODES = 2_000;

interface SearchOptions {
  /** Of each search, in looks at one kind for one node. */
  readonly work?: number | undefined;
  /**
   * Up to which part of the price plans count as practically equal, so that the one with fewer nodes wins; 0 where nodes
   * cost nothing besides their instances, and the cheapest plan wins.
   */
  readonly indifference: number;
  /** A plan that there is already: the search also tries to improve it. */
  readonly present?: readonly Bin[];
  /** What all nodes may cost to be of use, USD per hour. No limit when left out. */
  readonly usdLimit?: number | undefined;
  /** Whether there is no time left: the search ends with what it has. */
  readonly isLate: () => boolean;
}

interface Packing {
  readonly bins: readonly Bin[];
  /** What fewer nodes may cost; undefined where the cheapest plan wins. */
  readonly saving: NodeSaving | undefined;
}

export function bestPacking(problem: Problem, options: SearchOptions): Packing | undefined {
  const { indifference } = options;
  const cheapest = searched(problem, options, { usdPerNode: 0, mostUsd: Number.POSITIVE_INFINITY, starts: [] });
  if (cheapest === undefined || indifference === 0) return cheapest && { bins: cheapest, saving: undefined };
  const saving = nodeSavingOf(cheapest, options.usdLimit ?? Number.POSITIVE_INFINITY);
  if (nodesOf(cheapest) === 1) return { bins: cheapest, saving };
  const terms = { usdPerNode: saving.usdPerNode, mostUsd: saving.mostUsdPerHour, starts: [cheapest] };
  const fewer = searched(problem, options, terms);
  return {
    bins: fewer !== undefined && isPreferred(fewer, cheapest, { indifference, saving }) ? fewer : cheapest,
    saving,
  };
}

interface Preference extends Pick<SearchOptions, 'indifference'> {
  readonly saving: NodeSaving;
}

/** Whether the one saves nodes that are worth it, or is simply better: each search may find what the other one does not. */
function isPreferred(one: readonly Bin[], other: readonly Bin[], { indifference, saving }: Preference): boolean {
  const [a, b] = [purchaseOf(one), purchaseOf(other)];
  return savesNodes(a, b, saving) || isBetter(a, b, indifference);
}

const purchaseOf = (bins: readonly Bin[]): Purchase => ({
  usdPerHour: costOf(bins),
  nodes: nodesOf(bins),
  instanceTypes: new Set(bins.map(({ row }) => row)).size,
});

interface Terms {
  /** What each node counts besides its price, USD per hour. */
  readonly usdPerNode: number;
  /** What all nodes may cost, USD per hour. */
  readonly mostUsd: number;
  /** Plans that cost no more than that. */
  readonly starts: readonly (readonly Bin[])[];
}

/** The best of what comes of several plans, within the terms. */
function searched(problem: Problem, options: SearchOptions, terms: Terms): readonly Bin[] | undefined {
  const { work = WORK, isLate, present } = options;
  const budget: SearchBudget = { left: work, isLate };
  const shop = new Shop(problem, budget);
  const found = constructed(problem, shop, options, terms.usdPerNode);
  if (found === undefined) return undefined;
  const counted = (bins: readonly Bin[]): number => countedCost(bins, found.surcharge);
  const isPromising = present !== undefined && counted(present) <= PROMISING * counted(found.bins);
  return [found.bins, ...terms.starts, ...(isPromising ? [present] : [])]
    .map((bins) => improved(problem, { shop, budget, mostUsd: terms.mostUsd }, { ...found, bins }))
    .filter((bins) => costOf(bins) <= terms.mostUsd)
    .toSorted((a, b) => counted(a) - counted(b))[0];
}

interface Found {
  readonly bins: readonly Bin[];
  readonly worth: Float64Array;
  /**
   * What a node counts more than its price. Of that, `indifference` times the mean price of a node makes a plan with fewer
   * nodes win as long as it is dearer by less than that for each node that it saves; so never by more than
   * `indifference` of all.
   */
  readonly surcharge: number;
}

function constructed(
  problem: Problem,
  shop: Shop,
  { indifference, isLate }: SearchOptions,
  usdPerNode: number,
): Found | undefined {
  const counts = Int32Array.from(problem.kinds, ({ count }) => count);
  let worth = shop.ownWorth();
  let best: Found | undefined;
  for (let round = 0; round < ROUNDS && !isLate(); round++) {
    const filling = round % 3 === 2 ? 'dearest' : 'scarcity';
    const bins = shop.buy({ counts, worth, filling, surcharge: best?.surcharge ?? usdPerNode });
    if (bins === undefined) break;
    const surcharge = best?.surcharge ?? usdPerNode + (indifference * costOf(bins)) / nodesOf(bins);
    if (best === undefined || countedCost(bins, surcharge) < countedCost(best.bins, surcharge))
      best = { bins, worth, surcharge };
    worth = adapted(worth, bins, problem);
  }
  return best;
}

const countedCost = (bins: readonly Bin[], surcharge: number): number => costOf(bins) + surcharge * nodesOf(bins);

/** Pods whose place was dear are worth more: the next construction looks after them earlier. */
function adapted(worth: Float64Array, bins: readonly Bin[], { kinds }: Problem): Float64Array {
  const paid = new Float64Array(worth.length);
  for (const { counts, price, copies } of bins) {
    const total = counts.reduce((sum, count, kind) => sum + count * (worth[kind] ?? 0), 0);
    for (let kind = 0; kind < counts.length; kind++)
      paid[kind] = (paid[kind] ?? 0) + (copies * price * (counts[kind] ?? 0) * (worth[kind] ?? 0)) / total;
  }
  return worth.map((each, kind) => (each + (paid[kind] ?? 0) / Math.max(1, kinds[kind]?.count ?? 1)) / 2);
}

interface Means {
  readonly shop: Shop;
  readonly budget: SearchBudget;
  /** No plan is made dearer than this, USD per hour. */
  readonly mostUsd: number;
}

function improved(
  problem: Problem,
  { shop, budget, mostUsd }: Means,
  { bins, worth, surcharge }: Found,
): readonly Bin[] {
  let nodes = singleNodes(bins);
  let usd = costOf(bins);
  if (nodes.length < 2 || nodes.length > MAX_SINGLE_NODES) return bins;
  const random = pseudoRandom(problem.kinds.length * 7919 + nodes.length);
  const ratio = ({ price, counts }: Bin): number =>
    (price + surcharge) / counts.reduce((sum, count, kind) => sum + count * (worth[kind] ?? 0), 0);
  const nodesByRatio = (): Bin[] => nodes.toSorted((a, b) => ratio(b) - ratio(a));
  nodes = nodesByRatio();
  const patience = Math.min(MOST_PATIENCE, PATIENCE_PER_NODE * nodes.length);
  for (let vain = 0; vain < patience && budget.left > 0 && !budget.isLate(); vain++) {
    const size = Math.min(nodes.length, 2 + Math.floor(random() * 6));
    const chosen = new Set<number>();
    // the dear ones stand in front: squaring draws them more often
    while (chosen.size < size) chosen.add(Math.floor(random() ** 2 * nodes.length));
    const before = [...chosen].map((at) => nodes[at] as Bin);
    const share = 0.2 + 0.8 * random();
    const rows = new Set(before.map(({ row }) => row));
    const after = shop.buy({
      counts: sumOf(before),
      worth: worth.map((each) => each * (0.7 + 0.6 * random())),
      filling: random() < 0.3 ? 'dearest' : 'scarcity',
      surcharge,
      usdLimit: countedCost(before, surcharge) * (1 - 1e-9),
      considers: (row) => rows.has(row) || random() < share,
    });
    if (after === undefined) continue;
    const would = usd - costOf(before) + costOf(after);
    if (would > Math.max(usd, mostUsd)) continue;
    usd = would;
    nodes = [...nodes.filter((_, at) => !chosen.has(at)), ...singleNodes(after)];
    nodes = nodesByRatio();
    vain = 0;
  }
  return nodes;
}

const singleNodes = (bins: readonly Bin[]): Bin[] =>
  bins.flatMap((bin) => Array.from({ length: bin.copies }, () => ({ ...bin, copies: 1 })));

function sumOf(bins: readonly Bin[]): Int32Array {
  const sum = new Int32Array(bins[0]?.counts.length ?? 0);
  for (const { counts } of bins)
    for (let kind = 0; kind < sum.length; kind++) sum[kind] = (sum[kind] ?? 0) + (counts[kind] ?? 0);
  return sum;
}
