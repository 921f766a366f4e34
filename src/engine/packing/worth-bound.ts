/**
 * Computes upper bounds of the worth of pods on a node. For one resource, a node has the highest worth if it takes the
 * pods with the highest worth per amount first, and a part of the last pod: the bound of the fractional knapsack
 * (Dantzig, 1957). The result is the lowest bound of all relevant resources.
 */
import type { Amounts } from '../solver/dimensions.ts';
import type { PodKind } from './problem.ts';

/** One resource that pods request, with buffers that each `start` and `select` write again. */
class Dimension {
  readonly at: number;
  /** Amount that a pod requests, per kind. */
  readonly #amountOf: Float64Array;
  /** Worth per amount, per kind. */
  readonly #densityOf: Float64Array;
  /** Kinds with open pods that request the resource, highest worth per amount first. */
  readonly #order: number[] = [];
  /** Selected kinds in this order: the amount of a pod, the amount and worth of all pods, and the worth per amount. */
  readonly amounts: Float64Array;
  readonly wholes: Float64Array;
  readonly worths: Float64Array;
  readonly densities: Float64Array;
  /** Number of selected kinds. */
  size = 0;
  /** Worth of all selected pods that do not request the resource. */
  free = 0;

  constructor(at: number, kinds: readonly PodKind[]) {
    this.at = at;
    this.#amountOf = Float64Array.from(kinds, ({ amounts }) => amounts[at] as number);
    const requesting = this.#amountOf.filter((amount) => amount > 0).length;
    this.#densityOf = new Float64Array(kinds.length);
    const buffer = (): Float64Array => new Float64Array(requesting);
    this.amounts = buffer();
    this.wholes = buffer();
    this.worths = buffer();
    this.densities = buffer();
  }

  /** @param open kinds with open pods */
  start(open: readonly number[], worth: Float64Array): void {
    const [amountOf, densityOf, order] = [this.#amountOf, this.#densityOf, this.#order];
    order.length = 0;
    for (let at = 0; at < open.length; at++) {
      const kind = open[at] as number;
      const amount = amountOf[kind] as number;
      if (amount <= 0) continue;
      order.push(kind);
      densityOf[kind] = (worth[kind] as number) / amount;
    }
    sortDescending(order, densityOf);
  }

  /** @param total worth of all selected pods */
  select(isMember: Uint8Array, left: Int32Array, worth: Float64Array, total: number): void {
    let size = 0;
    let taken = 0;
    const order = this.#order;
    for (let at = 0; at < order.length; at++) {
      const kind = order[at] as number;
      if (isMember[kind] === 0) continue;
      const amount = this.#amountOf[kind] as number;
      const count = left[kind] as number;
      const whole = count * (worth[kind] as number);
      this.amounts[size] = amount;
      this.wholes[size] = count * amount;
      this.worths[size] = whole;
      this.densities[size] = this.#densityOf[kind] as number;
      taken += whole;
      size++;
    }
    this.size = size;
    this.free = total - taken;
  }
}

/** Maximum length of a list for which an insertion sort takes less time than a sort with a comparison function. */
const MOST_INSERTED = 48;

/** Sorts positions by their values, highest value first. Positions with equal values keep their order. */
function sortDescending(positions: number[], values: Float64Array): void {
  if (positions.length > MOST_INSERTED) {
    positions.sort((a, b) => (values[b] as number) - (values[a] as number));
    return;
  }
  for (let next = 1; next < positions.length; next++) {
    const position = positions[next] as number;
    const value = values[position] as number;
    let at = next;
    for (; at > 0 && (values[positions[at - 1] as number] as number) < value; at--)
      positions[at] = positions[at - 1] as number;
    positions[at] = position;
  }
}

export class WorthBound {
  readonly #all: readonly Dimension[];
  /** Open pods and their worth, per kind. */
  #left: Int32Array = new Int32Array();
  #worth: Float64Array = new Float64Array();
  /** Kinds with open pods. */
  #open: readonly number[] = [];
  /** Dimensions that bound the selected kinds. */
  #relevant: readonly Dimension[] = [];
  #total = 0;
  #looks = 0;

  constructor(kinds: readonly PodKind[]) {
    const width = kinds[0]?.amounts.length ?? 0;
    this.#all = Array.from({ length: width }, (_, at) => at)
      .filter((at) => kinds.some(({ amounts }) => (amounts[at] as number) > 0))
      .map((at) => new Dimension(at, kinds));
  }

  /**
   * Sorts the open pods.
   * @param left number of open pods, per kind
   * @param worth worth of a pod, per kind
   */
  start(left: Int32Array, worth: Float64Array): void {
    this.#left = left;
    this.#worth = worth;
    const open: number[] = [];
    for (let kind = 0; kind < left.length; kind++) if ((left[kind] as number) > 0) open.push(kind);
    this.#open = open;
    for (const dimension of this.#all) dimension.start(open, worth);
  }

  /**
   * Selects the kinds of pods that the nodes may take. Returns false if none of these pods is open.
   * @param isMember 1 for each of the kinds, otherwise 0
   */
  select(isMember: Uint8Array): boolean {
    let among = 0;
    let total = 0;
    const open = this.#open;
    for (let at = 0; at < open.length; at++) {
      const kind = open[at] as number;
      if (isMember[kind] === 0) continue;
      among++;
      total += (this.#left[kind] as number) * (this.#worth[kind] as number);
    }
    this.#total = total;
    this.#looks = 0;
    if (among === 0) return false;
    for (const dimension of this.#all) dimension.select(isMember, this.#left, this.#worth, total);
    // a resource that few kinds request gives a weak bound
    this.#relevant = this.#all.filter(({ size }) => size > among / 2);
    // a check costs half as much as filling a node, and avoids filling many nodes
    this.#looks = Math.ceil(this.#relevant.reduce((sum, { size }) => sum + size, 0) / 2);
    return true;
  }

  /** Cost to compute this bound of one node, in checks of a kind. */
  get looks(): number {
    return this.#looks;
  }

  /** Returns this bound for a node with this capacity and the selected kinds. */
  of(capacity: Amounts): number {
    let least = this.#total;
    for (const { at, size, amounts, wholes, worths, densities, free } of this.#relevant) {
      const there = capacity[at] as number;
      let rest = there;
      let most = free;
      for (let index = 0; index < size && rest > 0 && most < least; index++) {
        if ((amounts[index] as number) > there) continue; // not even one pod fits
        const whole = wholes[index] as number;
        most += whole <= rest ? (worths[index] as number) : rest * (densities[index] as number);
        rest -= whole;
      }
      if (most < least) least = most;
    }
    return least;
  }
}
