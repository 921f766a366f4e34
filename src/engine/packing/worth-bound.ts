/**
 * Computes an upper bound of the worth of pods on a node. For one resource, a node has the highest worth if it takes the pods
 * with the highest worth per amount first, and a part of the last pod: the bound of the fractional knapsack (Dantzig, 1957). The
 * result is the lowest bound of all relevant resources.
 */
import type { Amounts } from '../solver/dimensions.ts';
import type { PodKind } from './problem.ts';

/** One resource that pods request. */
interface Dimension {
  readonly at: number;
  /** Kinds of pods that request the resource, highest worth per amount first. */
  readonly kinds: Int32Array;
  /** Amount that a pod requests, by the position in `kinds`. */
  readonly amounts: Float64Array;
  /** Worth of all pods that do not request the resource. */
  readonly free: number;
}

export class WorthBound {
  /** Cost to compute the bound of one node, in checks of a kind. */
  readonly looks: number;
  readonly #dimensions: readonly Dimension[];
  readonly #left: Int32Array;
  readonly #worth: Float64Array;
  readonly #total: number;

  /**
   * Prepares the bounds.
   * @param among kinds of pods that the node may take
   * @param left number of pods, per kind
   * @param worth worth of a pod, per kind
   */
  constructor(kinds: readonly PodKind[], among: readonly number[], left: Int32Array, worth: Float64Array) {
    this.#left = left.slice();
    this.#worth = worth;
    this.#total = among.reduce((sum, kind) => sum + this.#worthOf(kind), 0);
    const width = kinds[0]?.amounts.length ?? 0;
    const wantedBy = (at: number): number[] => among.filter((kind) => (kinds[kind]?.amounts[at] as number) > 0);
    this.#dimensions = Array.from({ length: width }, (_, at) => ({ at, takers: wantedBy(at) }))
      // a resource that few kinds request gives a weak bound
      .filter(({ takers }) => takers.length > among.length / 2)
      .map(({ at, takers }) => this.#dimension(at, takers, kinds));
    // a check costs half of a check while a node is filled, and avoids many of those
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

  /** Returns the worth of all pods of a kind. */
  #worthOf(kind: number): number {
    return (this.#left[kind] as number) * (this.#worth[kind] as number);
  }

  /** Returns the bound for a node with this capacity. */
  of(capacity: Amounts): number {
    let least = this.#total;
    for (const { at, kinds, amounts, free } of this.#dimensions) {
      const there = capacity[at] as number;
      let rest = there;
      let most = free;
      for (let index = 0; index < kinds.length && rest > 0 && most < least; index++) {
        const amount = amounts[index] as number;
        if (amount > there) continue; // not even one pod fits
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
