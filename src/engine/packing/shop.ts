/**
 * Chooses one node after another, each with the lowest price per worth of its pods. The worth of a pod is an estimate of the
 * cost to place a pod of its kind.
 */
import type { Amounts } from '../solver/dimensions.ts';
import { surplusUsd } from '../solver/surplus-prices.ts';
import { type Offer, Offers } from './offers.ts';
import { type Demand, OpenNode } from './open-node.ts';
import { type Bin, type Mix, type Problem, worthOf, worthwhileRows } from './problem.ts';
import { WorthBound } from './worth-bound.ts';

/** Remaining work of a search, in checks of one kind for one node. */
export interface SearchBudget {
  left: number;
  readonly isLate: () => boolean;
}

interface PurchaseRequest extends Demand {
  /** Pods to place, per kind. */
  readonly counts: Int32Array;
  /** Surcharge of each node in USD per hour. A higher surcharge leads to fewer nodes. */
  readonly surcharge: number;
  /** Limit of the cost including surcharges. A result with this cost or more is useless. */
  readonly usdLimit: number;
  /** 1 for each row to consider. If undefined, all worthwhile rows are considered. */
  readonly considered: Uint8Array | undefined;
}

const ROUNDING = 1 + 1e-9;
/**
 * Number of constructions for which the budget should be sufficient. `LOOKS_PER_KIND` is the estimated number of checks of a
 * kind for one row in each construction.
 */
const CONSTRUCTIONS = 6;
const LOOKS_PER_KIND = 13;

/**
 * Last small shop. V8 discards the optimized code of a class when the last object of the class is collected, and compiling it
 * again takes longer than a small search.
 */
const KEPT: { shop?: Shop } = {};
/** Maximum size of a kept shop, in counts of kinds. */
const MOST_KEPT = 100_000;

export class Shop {
  readonly #problem: Problem;
  readonly #budget: SearchBudget;
  /** Kinds of each mix: 1 for its kinds, otherwise 0. */
  readonly #members: readonly Uint8Array[];
  readonly #bound: WorthBound;
  /** All possible nodes, by mix, cheapest first. */
  readonly #catalogue: readonly (readonly Offer[])[];
  /** Rows of the catalogue. */
  readonly rows: readonly number[];
  /** Cost of a pod of each kind on nodes that are full of its own kind, as an initial upper estimate. */
  readonly ownWorth: Float64Array;
  /** Kinds with pods of the current request, by mix. */
  readonly #open: readonly number[][];
  readonly #offers = new Offers();
  readonly #node: OpenNode;

  constructor(problem: Problem, budget: SearchBudget) {
    const { kinds, mixes } = problem;
    this.#problem = problem;
    this.#budget = budget;
    this.#members = mixes.map((mix) => {
      const members = new Uint8Array(kinds.length);
      for (const kind of mix.kinds) members[kind] = 1;
      return members;
    });
    this.#open = mixes.map(() => []);
    this.#bound = new WorthBound(kinds);
    this.#node = new OpenNode(kinds);
    const rows = mixes.map((mix) => worthwhileRows(problem, { ...mix, prices: this.#ownPrices(mix) }));
    const used = mixes.filter((_, index) => (rows[index] as readonly number[]).length > 0);
    const looks = used.reduce((sum, mix) => sum + mix.kinds.length, 0) * LOOKS_PER_KIND;
    const most = Math.max(1, Math.floor(budget.left / CONSTRUCTIONS / looks));
    let order = 0;
    this.#catalogue = mixes.map((mix, index) =>
      this.#thinned(mix, rows[index] as readonly number[], most).flatMap((row) =>
        this.#capacitiesOf(row).map((capacity) => ({
          order: order++,
          mix: index,
          row,
          capacity,
          instanceUsd: mix.prices[row] ?? 0,
          price: 0,
          counts: new Int32Array(kinds.length),
          isFilled: false,
          ratio: 0,
        })),
      ),
    );
    this.rows = [...new Set(this.#catalogue.flatMap((offers) => offers.map(({ row }) => row)))];
    this.ownWorth = this.#ownWorth();
    if (order * kinds.length <= MOST_KEPT) KEPT.shop = this;
  }

  /**
   * Returns the prices of a mix. A row that costs no more in a mix that contains all kinds of this mix has no price, because the
   * nodes of the larger mix are never worse.
   */
  #ownPrices(mix: Mix): Float64Array {
    const { mixes } = this.#problem;
    const wider = mixes.filter(
      ({ kinds }, at) => kinds.length > mix.kinds.length && mix.kinds.every((kind) => this.#members[at]?.[kind] === 1),
    );
    if (wider.length === 0) return mix.prices;
    return mix.prices.map((price, row) =>
      wider.some(({ prices }) => (prices[row] as number) <= price) ? Number.POSITIVE_INFINITY : price,
    );
  }

  /** Returns the capacity of a row, and the capacity without surplus CPU if both are possible. */
  #capacitiesOf(row: number): readonly Amounts[] {
    const { capacities, surplus, cpuAt } = this.#problem;
    const whole = capacities[row] as Amounts;
    const included = surplus[row]?.includedCpu ?? Number.POSITIVE_INFINITY;
    if (included <= 0 || included >= (whole[cpuAt] ?? 0)) return [whole];
    return [whole.with(cpuAt, included), whole];
  }

  /** Returns the price of a node whose pods request some CPU. */
  #priceOf(row: number, instanceUsd: number, cpu: number): number {
    const surplus = this.#problem.surplus[row];
    return surplus === undefined ? instanceUsd : instanceUsd + surplusUsd(surplus, cpu);
  }

  /**
   * Reduces the rows to a number that the budget allows. Keeps the best row for each kind alone, and further rows at even steps
   * of price.
   */
  #thinned(mix: Mix, rows: readonly number[], most: number): readonly number[] {
    if (rows.length <= most) return rows;
    const kept = new Set<number>();
    for (const kind of mix.kinds) {
      const best = this.#cheapestRowFor(kind, mix, rows);
      if (best !== undefined) kept.add(best);
    }
    for (let index = 0; index < most; index++) kept.add(rows[Math.floor((index * rows.length) / most)] as number);
    return rows.filter((row) => kept.has(row));
  }

  #cheapestRowFor(kind: number, { prices }: Mix, rows: readonly number[]): number | undefined {
    const { capacities } = this.#problem;
    let best: number | undefined;
    let lowest = Number.POSITIVE_INFINITY;
    for (const row of rows) {
      const load = this.#node.loadOn(capacities[row] as Amounts, kind);
      if (load > 1) continue;
      const price = this.#shareOf(kind, row, prices[row] ?? 0, load);
      if (price >= lowest) continue;
      best = row;
      lowest = price;
    }
    return best;
  }

  #ownWorth(): Float64Array {
    const { kinds, mixes } = this.#problem;
    const worth = new Float64Array(kinds.length).fill(Number.POSITIVE_INFINITY);
    for (const [index, mix] of mixes.entries())
      for (const kind of mix.kinds)
        worth[kind] = Math.min(worth[kind] ?? 0, this.#leastShareOf(kind, this.#catalogue[index] ?? []));
    return worth;
  }

  #leastShareOf(kind: number, offers: readonly Offer[]): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { row, capacity, instanceUsd } of offers) {
      const load = this.#node.loadOn(capacity, kind);
      if (load <= 1) least = Math.min(least, this.#shareOf(kind, row, instanceUsd, load));
    }
    return least;
  }

  /** Returns the share of a pod in the price of a node that is full of pods of its kind. */
  #shareOf(kind: number, row: number, instanceUsd: number, load: number): number {
    const { kinds, cpuAt } = this.#problem;
    return load === 0 ? 0 : load * this.#priceOf(row, instanceUsd, (kinds[kind]?.amounts[cpuAt] ?? 0) / load);
  }

  /**
   * Returns nodes for all pods of the request. Returns undefined if some pods fit nowhere, or if the cost limit, the budget or
   * the time is exhausted.
   */
  buy(request: PurchaseRequest): Bin[] | undefined {
    const { usdLimit } = request;
    const left = request.counts.slice();
    let open = 0;
    for (let kind = 0; kind < left.length; kind++) open += left[kind] as number;
    let worth = worthOf(left, request.worth);
    this.#offer(left, request);
    const bins: Bin[] = [];
    let usd = 0;
    while (open > 0 && !this.#budget.isLate()) {
      const best = this.#best(left, request, worth > 0 ? (usdLimit - usd) / worth : Number.POSITIVE_INFINITY);
      if (best === undefined) return undefined;
      const { mix, row, price, counts } = best;
      const kinds = this.#open[mix] as readonly number[];
      const copies = copiesOf(counts, kinds, left);
      usd += copies * (price + request.surcharge);
      if (usd >= usdLimit) return undefined;
      for (let at = 0; at < kinds.length; at++) {
        const kind = kinds[at] as number;
        const taken = (counts[kind] as number) * copies;
        left[kind] = (left[kind] as number) - taken;
        open -= taken;
        worth -= taken * (request.worth[kind] as number);
      }
      bins.push({ row, price, counts: counts.slice(), copies });
    }
    return open > 0 ? undefined : bins;
  }

  #offer(left: Int32Array, { worth, surcharge, considered, usdLimit }: PurchaseRequest): void {
    const bound = this.#bound;
    bound.start(left, worth);
    this.#offers.clear();
    for (const [index, members] of this.#members.entries()) {
      const catalogue = this.#catalogue[index] as readonly Offer[];
      if (catalogue.length === 0 || !bound.select(members)) continue;
      setOpen(this.#open[index] as number[], (this.#problem.mixes[index] as Mix).kinds, left);
      for (const offer of catalogue) {
        if (offer.instanceUsd + surcharge >= usdLimit) break; // cheapest first
        if (considered !== undefined && considered[offer.row] === 0) continue;
        this.#budget.left -= bound.looks;
        offer.isFilled = false;
        offer.ratio = ratioOf(offer.instanceUsd + surcharge, bound.of(offer.capacity));
        if (offer.ratio < Number.POSITIVE_INFINITY) this.#offers.add(offer);
      }
    }
    this.#offers.arrange();
  }

  /**
   * Returns the offer with the lowest price per worth. Offers that contain already placed pods are filled again when they become
   * the first. Returns undefined if the lowest price per worth exceeds the limit, because the pods would then cost too much.
   */
  #best(left: Int32Array, request: PurchaseRequest, limit: number): Offer | undefined {
    while (this.#budget.left > 0) {
      const best = this.#offers.first;
      if (best === undefined || best.ratio === Number.POSITIVE_INFINITY || best.ratio > limit * ROUNDING)
        return undefined;
      const { mix, counts, isFilled } = best;
      if (isFilled && copiesOf(counts, this.#open[mix] as readonly number[], left) > 0) return best;
      this.#fill(best, left, request);
      this.#offers.firstHasChanged();
    }
    return undefined;
  }

  #fill(offer: Offer, left: Int32Array, request: PurchaseRequest): void {
    const { cpuAt } = this.#problem;
    const { mix, row, capacity: room, instanceUsd, counts } = offer;
    const kinds = this.#open[mix] as readonly number[];
    const node = this.#node;
    node.start(room, kinds, left);
    counts.fill(0);
    while (node.add(counts, left, request) >= 0);
    this.#budget.left -= node.checks;
    offer.isFilled = true;
    offer.price = this.#priceOf(row, instanceUsd, (room[cpuAt] ?? 0) - node.restAt(cpuAt));
    let worth = 0;
    for (let at = 0; at < kinds.length; at++) {
      const kind = kinds[at] as number;
      const count = counts[kind] as number;
      if (count > 0) worth += count * (request.worth[kind] as number);
    }
    offer.ratio = ratioOf(offer.price + request.surcharge, worth);
  }
}

const ratioOf = (price: number, worth: number): number => (worth > 0 ? price / worth : Number.POSITIVE_INFINITY);

/** Returns the number of nodes that can have the same filling. @param kinds kinds that the nodes may have */
function copiesOf(counts: Int32Array, kinds: readonly number[], left: Int32Array): number {
  let copies = Number.POSITIVE_INFINITY;
  for (let at = 0; at < kinds.length; at++) {
    const kind = kinds[at] as number;
    const count = counts[kind] as number;
    if (count > 0) copies = Math.min(copies, Math.floor((left[kind] as number) / count));
  }
  return copies;
}

/** Sets a list to the kinds with open pods. */
function setOpen(open: number[], kinds: readonly number[], left: Int32Array): void {
  open.length = 0;
  for (let at = 0; at < kinds.length; at++) {
    const kind = kinds[at] as number;
    if ((left[kind] as number) > 0) open.push(kind);
  }
}
