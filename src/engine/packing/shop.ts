/**
 * Buys node after node, each time the one with the least price per worth of the pods that it takes. The worth of a pod is
 * an estimate of what it will cost to house one of its kind.
 */
import type { Amounts } from '../solver/dimensions.ts';
import { type Offer, Offers } from './offers.ts';
import { type Bin, type Mix, type PodKind, type Problem, worthwhileRows } from './problem.ts';
import { WorthBound } from './worth-bound.ts';

/** How a node is filled: by worth of what is scarce on it, or with the dearest pods first. */
type Filling = 'scarcity' | 'dearest';

/** Work that a search may still do, in looks at one kind for one node. */
export interface SearchBudget {
  left: number;
  readonly isLate: () => boolean;
}

interface PurchaseRequest {
  /** Pods to house, per kind. */
  readonly counts: Int32Array;
  /** Worth of a pod, per kind. */
  readonly worth: Float64Array;
  readonly filling: Filling;
  /** USD per hour that every node counts more than its price: the more, the fewer nodes. */
  readonly surcharge: number;
  /** With surcharges: nodes for as much or more are of no use. No limit when left out. */
  readonly usdLimit?: number;
  /** Rows to look at; all worthwhile ones when left out. */
  readonly considers?: (row: number) => boolean;
}

const TINY = 1e-9;
/** Constructions for which the budget should be enough, and how often each looks at a kind for one row. */
const CONSTRUCTIONS = 6;
const LOOKS_PER_KIND = 20;

/** What a pod wants. Most kinds want little of what there is. */
interface Wants {
  readonly positions: Int32Array;
  /** By the index in `positions`. */
  readonly amounts: Float64Array;
}

function wantsOf({ amounts }: PodKind): Wants {
  const positions = [...amounts.keys()].filter((at) => (amounts[at] ?? 0) > 0);
  return { positions: Int32Array.from(positions), amounts: Float64Array.from(positions, (at) => amounts[at] ?? 0) };
}

export class Shop {
  readonly #problem: Problem;
  readonly #budget: SearchBudget;
  /** By kind. */
  readonly #wants: readonly Wants[];
  /** All nodes that could be bought, by mix and from cheap to dear. */
  readonly #catalogue: readonly (readonly Offer[])[];
  readonly #offers = new Offers();
  /** Of the node that is being filled: what is left of it, and the kinds that may still have room on it. */
  readonly #rest: Amounts;
  readonly #room: Int32Array;

  constructor(problem: Problem, budget: SearchBudget) {
    const { kinds, mixes } = problem;
    this.#problem = problem;
    this.#budget = budget;
    this.#wants = kinds.map(wantsOf);
    this.#rest = new Float64Array(kinds[0]?.amounts.length ?? 0);
    this.#room = new Int32Array(kinds.length);
    const looks = mixes.reduce((sum, mix) => sum + mix.kinds.length, 0) * LOOKS_PER_KIND;
    const most = Math.max(1, Math.floor(budget.left / CONSTRUCTIONS / looks));
    let order = 0;
    this.#catalogue = mixes.map((mix, index) =>
      this.#thinned(mix, worthwhileRows(problem, mix), most).map((row) => ({
        ...{ order: order++, mix: index, row, price: mix.prices[row] ?? 0 },
        ...{ counts: new Int32Array(kinds.length), isFilled: false, ratio: 0 },
      })),
    );
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
      for (const { row, price } of this.#catalogue[index] ?? []) {
        for (const kind of mix.kinds) {
          const load = this.#loadOf(kind, capacities[row] as Amounts);
          if (load <= 1) worth[kind] = Math.min(worth[kind] ?? 0, load * price);
        }
      }
    }
    return worth;
  }

  /** Nodes for all pods of the request; undefined when some fit nowhere, or the money, the budget or the time is used up. */
  buy(request: PurchaseRequest): Bin[] | undefined {
    const { usdLimit = Number.POSITIVE_INFINITY } = request;
    const left = request.counts.slice();
    let open = left.reduce((sum, count) => sum + count, 0);
    this.#offer(left, request);
    const bins: Bin[] = [];
    let usd = 0;
    while (open > 0 && !this.#budget.isLate()) {
      const best = this.#best(left, request);
      if (best === undefined) return undefined;
      usd += best.copies * (best.price + request.surcharge);
      if (usd >= usdLimit) return undefined;
      for (let kind = 0; kind < left.length; kind++) {
        const taken = (best.counts[kind] ?? 0) * best.copies;
        left[kind] = (left[kind] ?? 0) - taken;
        open -= taken;
      }
      bins.push(best);
    }
    return open > 0 ? undefined : bins;
  }

  #offer(left: Int32Array, { worth, surcharge, considers }: PurchaseRequest): void {
    const { kinds, mixes, capacities } = this.#problem;
    this.#offers.clear();
    for (const [index, mix] of mixes.entries()) {
      const open = mix.kinds.filter((kind) => (left[kind] ?? 0) > 0);
      if (open.length === 0) continue;
      const bound = new WorthBound(kinds, open, left, worth);
      for (const offer of this.#catalogue[index] ?? []) {
        if (considers !== undefined && !considers(offer.row)) continue;
        this.#budget.left -= bound.looks;
        offer.isFilled = false;
        offer.ratio = ratioOf(offer.price + surcharge, bound.of(capacities[offer.row] as Amounts));
        if (offer.ratio < Number.POSITIVE_INFINITY) this.#offers.add(offer);
      }
    }
    this.#offers.arrange();
  }

  /** The offer with the least price per worth. Those that count on pods housed meanwhile are filled anew when met. */
  #best(left: Int32Array, request: PurchaseRequest): Bin | undefined {
    while (this.#budget.left > 0) {
      const best = this.#offers.first;
      if (best === undefined || best.ratio === Number.POSITIVE_INFINITY) return undefined;
      const { row, price, counts } = best;
      const copies = best.isFilled ? copiesOf(counts, left) : 0;
      if (copies > 0) return { row, price, counts: counts.slice(), copies };
      this.#fill(best, left, request);
      this.#offers.firstHasChanged();
    }
    return undefined;
  }

  #fill(offer: Offer, left: Int32Array, { worth, filling, surcharge }: PurchaseRequest): void {
    const { mixes, capacities } = this.#problem;
    const { mix, row, price, counts } = offer;
    this.#rest.set(capacities[row] as Amounts);
    counts.fill(0);
    let kinds = 0;
    for (const kind of (mixes[mix] as Mix).kinds) if ((left[kind] as number) > 0) this.#room[kinds++] = kind;
    let total = 0;
    while (kinds > 0) {
      this.#budget.left -= kinds + 1;
      let best = -1;
      let bestValue = 0;
      let bestLoad = 0;
      let kept = 0;
      for (let index = 0; index < kinds; index++) {
        const kind = this.#room[index] as number;
        const load = this.#loadOf(kind, this.#rest);
        if (load > 1 || (counts[kind] as number) >= (left[kind] as number)) continue; // never again on this node
        this.#room[kept++] = kind;
        const each = worth[kind] as number;
        const value = filling === 'dearest' ? each : each / (load + TINY);
        if (value > bestValue) {
          best = kind;
          bestValue = value;
          bestLoad = load;
        }
      }
      if (best < 0) break;
      kinds = kept;
      // half of what would fit: what is scarce changes as the node fills up
      const fitting = Math.floor(1 / Math.max(bestLoad, TINY) + TINY);
      const batch = Math.max(1, Math.min(fitting >> 1, (left[best] as number) - (counts[best] as number)));
      counts[best] = (counts[best] as number) + batch;
      total += batch * (worth[best] as number);
      this.#take(best, batch);
    }
    offer.isFilled = true;
    offer.ratio = ratioOf(price + surcharge, total);
  }

  /** The largest part that a pod takes of what is there; above 1 when it does not fit. */
  #loadOf(kind: number, there: Amounts): number {
    const { positions, amounts } = this.#wants[kind] as Wants;
    let load = 0;
    for (let index = 0; index < positions.length; index++) {
      const amount = amounts[index] as number;
      const rest = there[positions[index] as number] as number;
      if (amount > rest) return 2;
      const part = amount / rest;
      if (part > load) load = part;
    }
    return load;
  }

  #take(kind: number, times: number): void {
    const { positions, amounts } = this.#wants[kind] as Wants;
    for (let index = 0; index < positions.length; index++) {
      const at = positions[index] as number;
      this.#rest[at] = (this.#rest[at] as number) - times * (amounts[index] as number);
    }
  }
}

const ratioOf = (price: number, worth: number): number => (worth > 0 ? price / worth : Number.POSITIVE_INFINITY);

/** How many nodes can be filled in the same way. */
function copiesOf(counts: Int32Array, left: Int32Array): number {
  let copies = Number.POSITIVE_INFINITY;
  for (let kind = 0; kind < counts.length; kind++) {
    const count = counts[kind] as number;
    if (count > 0) copies = Math.min(copies, Math.floor((left[kind] as number) / count));
  }
  return copies;
}
