/** Candidates for the next node, lowest price per worth first, in a binary heap. */

import type { Amounts } from '../solver/dimensions.ts';

/** Node with its current filling. */
export interface Offer {
  /** Position in the order of the problem. For equal offers, the first position wins. */
  readonly order: number;
  readonly mix: number;
  readonly row: number;
  /** Capacity for pods. Of a burstable row, one offer has only the CPU that its price includes. */
  readonly capacity: Amounts;
  /** Price of the instance without surplus CPU. */
  readonly instanceUsd: number;
  /** Price of this node. A lower bound until the node is filled. */
  price: number;
  /** Pods on this node, per kind. Meaningless until the node is filled. */
  readonly counts: Int32Array;
  /** True if this node is filled. Filling is most of the work, so it is deferred until the result is needed. */
  isFilled: boolean;
  /** Price per worth. A lower bound until this node is filled. */
  ratio: number;
}

export class Offers {
  readonly #heap: Offer[] = [];

  clear(): void {
    this.#heap.length = 0;
  }

  /** Adds an offer. Callers must call `arrange` before the next use of `first`. */
  add(offer: Offer): void {
    this.#heap.push(offer);
  }

  arrange(): void {
    for (let at = (this.#heap.length >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  get first(): Offer | undefined {
    return this.#heap[0];
  }

  /** Moves the first offer to its position after its ratio has changed. */
  firstHasChanged(): void {
    this.#sink(0);
  }

  #sink(from: number): void {
    const heap = this.#heap;
    const offer = heap[from] as Offer;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && precedes(heap[child + 1] as Offer, heap[child] as Offer)) child++;
      const other = heap[child] as Offer;
      if (!precedes(other, offer)) break;
      heap[at] = other;
      at = child;
    }
    heap[at] = offer;
  }
}

const precedes = (one: Offer, other: Offer): boolean =>
  one.ratio < other.ratio || (one.ratio === other.ratio && one.order < other.order);
