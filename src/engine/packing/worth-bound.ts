/**
 * How much worth of pods a node can hold at most. Of one resource at a time a node holds most when it takes the pods with the
 * most worth for it first, and a part of the last one: the bound of the fractional knapsack (Dantzig, 1957). The least of the
 * bounds of all resources that matter holds.
 */
import type { Amounts } from '../solver/dimensions.ts';
import type { PodKind } from './problem.ts';

/** One resource that pods want. */
interface Dimension {
  readonly at: number;
  /** Kinds of pods that want it, those with the most worth for it first. */
  readonly kinds: Int32Array;
  /** What a pod wants of it, by the position in `kinds`. */
  readonly amounts: Float64Array;
  /** The worth of all pods that want none of it. */
  readonly free: number;
}

export class WorthBound {
  /** What finding the bound of one node costs, in looks at a kind. */
  readonly looks: number;
  readonly #dimensions: readonly Dimension[];
  readonly #left: Int32Array;
  readonly #worth: Float64Array;
  readonly #total: number;

  /**
   * @param among the kinds of pods that the node may take
   * @param left how many pods there are, per kind
   * @param worth of a pod, per kind
   */
  constructor(kinds: readonly PodKind[], among: readonly number[], left: Int32Array, worth: Float64Array) {
    this.#left = left.slice();
    this.#worth = worth;
    this.#total = among.reduce((sum, kind) => sum + this.#worthOf(kind), 0);
    const width = kinds[0]?.amounts.length ?? 0;
    const wantedBy = (at: number): number[] => among.filter((kind) => (kinds[kind]?.amounts[at] as number) > 0);
    this.#dimensions = Array.from({ length: width }, (_, at) => ({ at, takers: wantedBy(at) }))
      // what few want bounds little
      .filter(({ takers }) => takers.length > among.length / 2)
      .map(({ at, takers }) => this.#dimension(at, takers, kinds));
    // one costs half of one while a node is filled, and many are spared
    this.looks = Math.ceil(this.#dimensions.reduce((sum, { kinds: { length } }) => sum + length, 0) / 2);
  }

  #dimension(at: number, takers: readonly number[], kinds: readonly PodKind[]): Dimension {
    const amountOf = (kind: number): number => kinds[kind]?.amounts[at] as number;
    const density = (kind: number): number => (this.#worth[kind] as number) / amountOf(kind);
    const sorted = takers.toSorted((a, b) => density(b) - density(a));
    return {
      at,
      kinds: Int32Array.from(sorted),
      amounts: Float64Array.from(sorted, amountOf),
      free: this.#total - takers.reduce((sum, kind) => sum + this.#worthOf(kind), 0),
    };
  }

  /** Of all pods of a kind. */
  #worthOf(kind: number): number {
    return (this.#left[kind] as number) * (this.#worth[kind] as number);
  }

  /** Of a node with such a capacity. */
  of(capacity: Amounts): number {
    let least = this.#total;
    for (const { at, kinds, amounts, free } of this.#dimensions) {
      const there = capacity[at] as number;
      let rest = there;
      let most = free;
      for (let index = 0; index < kinds.length && rest > 0 && most < least; index++) {
        const amount = amounts[index] as number;
        if (amount > there) continue; // none of these fits
        const kind = kinds[index] as number;
        const taken = Math.min(this.#left[kind] as number, rest / amount);
        most += taken * (this.#worth[kind] as number);
        rest -= taken * amount;
      }
      if (most < least) least = most;
    }
    return least;
  }
}
