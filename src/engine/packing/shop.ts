/**
 * Buys node after node, each time the one with the least price per worth of the pods that it takes. The worth of a pod is
 * an estimate of what it will cost to house one of its kind.
 */
import type { Amounts } from '../solver/dimensions.ts';
import { type Bin, type Mix, type Problem, worthwhileRows } from './problem.ts';

/** How a node is filled: by worth of what is scarce on it, or with the dearest pods first. */
export type Filling = 'scarcity' | 'dearest';

/** A node as it would be filled now. */
interface Offer {
  readonly mix: number;
  readonly row: number;
  readonly price: number;
  counts: Int32Array;
  /** Price per worth. */
  ratio: number;
}

/** Work that a search may still do, in looks at one kind for one node. */
export interface Budget {
  left: number;
  readonly isLate: () => boolean;
}

export interface PurchaseRequest {
  /** Pods to house, per kind. */
  readonly counts: Int32Array;
  /** Worth of a pod, per kind. */
  readonly worth: Float64Array;
  readonly filling: Filling;
  /** USD per hour that every node counts more than its price: the more, the fewer nodes. */
  readonly surcharge: number;
  /** Rows to look at; all worthwhile ones when left out. */
  readonly considers?: (row: number) => boolean;
}

const TINY = 1e-9;
/** Constructions for which the budget should be enough, and how often each looks at a kind for one row. */
const CONSTRUCTIONS = 6;
const LOOKS_PER_KIND = 20;

export class Shop {
  readonly #problem: Problem;
  readonly #budget: Budget;
  readonly #rows: readonly (readonly number[])[];
  readonly #rest: Amounts;
  /** Positions at which each kind wants something: most kinds want little of what there is. */
  readonly #wanted: readonly Int32Array[];

  constructor(problem: Problem, budget: Budget) {
    this.#problem = problem;
    this.#budget = budget;
    this.#rest = new Float64Array(problem.kinds[0]?.amounts.length ?? 0);
    this.#wanted = problem.kinds.map(({ amounts }) => {
      const positions = [...amounts.keys()];
      return Int32Array.from(positions.filter((at) => (amounts[at] ?? 0) > 0));
    });
    const looks = problem.mixes.reduce((sum, mix) => sum + mix.kinds.length, 0) * LOOKS_PER_KIND;
    const most = Math.max(1, Math.floor(budget.left / CONSTRUCTIONS / looks));
    this.#rows = problem.mixes.map((mix) => this.#thinned(mix, worthwhileRows(problem, mix), most));
  }

  /** So many rows that the budget is enough: the best for each kind by itself, and others evenly from cheap to dear. */
  #thinned(mix: Mix, rows: readonly number[], most: number): readonly number[] {
    if (rows.length <= most) return rows;
    const { capacities } = this.#problem;
    const kept = new Set<number>();
    for (const kind of mix.kinds) {
      let best: number | undefined;
      let lowest = Number.POSITIVE_INFINITY;
      for (const row of rows) {
        const load = this.#loadOf(kind, capacities[row] as Amounts);
        const price = load * (mix.prices[row] ?? 0);
        if (load > 1 || price >= lowest) continue;
        best = row;
        lowest = price;
      }
      if (best !== undefined) kept.add(best);
    }
    for (let index = 0; index < most; index++) kept.add(rows[Math.floor((index * rows.length) / most)] as number);
    return rows.filter((row) => kept.has(row));
  }

  /** What a pod costs if it has nodes full of its own kind: an upper estimate to start from. */
  ownWorth(): Float64Array {
    const { kinds, mixes, capacities } = this.#problem;
    const worth = new Float64Array(kinds.length).fill(Number.POSITIVE_INFINITY);
    for (const [index, mix] of mixes.entries()) {
      for (const row of this.#rows[index] ?? []) {
        for (const kind of mix.kinds) {
          const load = this.#loadOf(kind, capacities[row] as Amounts);
          if (load <= 1) worth[kind] = Math.min(worth[kind] ?? 0, load * (mix.prices[row] ?? 0));
        }
      }
    }
    return worth;
  }

  /** Nodes for all pods of the request; undefined when some fit nowhere or the budget, or the time, is used up. */
  buy(request: PurchaseRequest): Bin[] | undefined {
    const left = request.counts.slice();
    let open = left.reduce((sum, count) => sum + count, 0);
    const offers = this.#offers(left, request);
    const bins: Bin[] = [];
    while (open > 0 && !this.#budget.isLate()) {
      const best = this.#best(offers, left, request);
      if (best === undefined) return undefined;
      const copies = copiesOf(best.counts, left);
      for (let kind = 0; kind < left.length; kind++) {
        const taken = (best.counts[kind] ?? 0) * copies;
        left[kind] = (left[kind] ?? 0) - taken;
        open -= taken;
      }
      bins.push({ mix: best.mix, row: best.row, price: best.price, counts: best.counts, copies });
    }
    return open > 0 ? undefined : bins;
  }

  #offers(left: Int32Array, request: PurchaseRequest): Offer[] {
    const { mixes } = this.#problem;
    const offers: Offer[] = [];
    for (const [index, mix] of mixes.entries()) {
      if (!mix.kinds.some((kind) => (left[kind] ?? 0) > 0)) continue;
      for (const row of this.#rows[index] ?? []) {
        if (request.considers !== undefined && !request.considers(row)) continue;
        const offer = { mix: index, row, price: mix.prices[row] ?? 0, counts: new Int32Array(0), ratio: 0 };
        this.#fill(offer, mix, left, request);
        offers.push(offer);
      }
    }
    return offers;
  }

  /** The offer with the least price per worth. Those that count on pods housed meanwhile are filled anew when met. */
  #best(offers: readonly Offer[], left: Int32Array, request: PurchaseRequest): Offer | undefined {
    while (this.#budget.left > 0) {
      let best: Offer | undefined;
      for (const offer of offers) if (best === undefined || offer.ratio < best.ratio) best = offer;
      if (best === undefined || best.ratio === Number.POSITIVE_INFINITY) return undefined;
      if (copiesOf(best.counts, left) > 0) return { ...best };
      this.#fill(best, this.#problem.mixes[best.mix] as Mix, left, request);
    }
    return undefined;
  }

  #fill(offer: Offer, mix: Mix, left: Int32Array, request: PurchaseRequest): void {
    const { kinds, capacities } = this.#problem;
    const rest = this.#rest;
    rest.set(capacities[offer.row] as Amounts);
    const counts = new Int32Array(left.length);
    const room = mix.kinds.filter((kind) => (left[kind] ?? 0) > 0);
    let worth = 0;
    for (;;) {
      this.#budget.left -= room.length + 1;
      const next = this.#next(room, (kind) => (left[kind] as number) - (counts[kind] as number), request);
      if (next === undefined) break;
      const { kind, batch } = next;
      counts[kind] = (counts[kind] ?? 0) + batch;
      worth += batch * (request.worth[kind] ?? 0);
      takeFrom(rest, kinds[kind]?.amounts as Amounts, batch);
    }
    offer.counts = counts;
    offer.ratio = worth > 0 ? (offer.price + request.surcharge) / worth : Number.POSITIVE_INFINITY;
  }

  /** The largest part that a pod takes of what is there; above 1 when it does not fit. */
  #loadOf(kind: number, there: Amounts): number {
    const amounts = this.#problem.kinds[kind]?.amounts as Amounts;
    const wanted = this.#wanted[kind] as Int32Array;
    let load = 0;
    for (let index = 0; index < wanted.length; index++) {
      const at = wanted[index] as number;
      const amount = amounts[at] as number;
      const rest = there[at] as number;
      if (amount > rest) return 2;
      const part = amount / rest;
      if (part > load) load = part;
    }
    return load;
  }

  /** The kind to add next to the node being filled, and how many of it. Kinds that fit no more leave the list. */
  #next(
    room: number[],
    leftOf: (kind: number) => number,
    request: PurchaseRequest,
  ): { kind: number; batch: number } | undefined {
    let best = -1;
    let bestValue = 0;
    let bestLoad = 0;
    let kept = 0;
    for (const kind of room) {
      const load = this.#loadOf(kind, this.#rest);
      if (load > 1 || leftOf(kind) <= 0) continue;
      room[kept++] = kind;
      const each = request.worth[kind] as number;
      const value = request.filling === 'dearest' ? each : each / (load + TINY);
      if (value > bestValue) {
        best = kind;
        bestValue = value;
        bestLoad = load;
      }
    }
    room.length = kept;
    if (best < 0) return undefined;
    // half of what would fit: what is scarce changes as the node fills up
    const fitting = Math.floor(1 / Math.max(bestLoad, TINY) + TINY);
    return { kind: best, batch: Math.max(1, Math.min(fitting >> 1, leftOf(best))) };
  }
}

function takeFrom(rest: Amounts, amounts: Amounts, times: number): void {
  for (let at = 0; at < rest.length; at++) rest[at] = (rest[at] as number) - times * (amounts[at] as number);
}

/** How many nodes can be filled in the same way. */
function copiesOf(counts: Int32Array, left: Int32Array): number {
  let copies = Number.POSITIVE_INFINITY;
  for (let kind = 0; kind < counts.length; kind++) {
    const count = counts[kind] as number;
    if (count > 0) copies = Math.min(copies, Math.floor((left[kind] as number) / count));
  }
  return copies;
}
