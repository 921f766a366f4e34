/** Nodes that could be bought next, the one with the least price per worth first: a binary heap. */

/** A node as it would be filled now. */
export interface Offer {
  /** Position in the problem's order: of equally good ones the first counts. */
  readonly order: number;
  readonly mix: number;
  readonly row: number;
  readonly price: number;
  /** Pods on it, per kind; of no meaning until it is filled. */
  readonly counts: Int32Array;
  /** Filling is most of the work, and put off until somebody has to know. */
  isFilled: boolean;
  /** Price per worth; the least that it can be as long as the node is not filled. */
  ratio: number;
}

export class Offers {
  readonly #heap: Offer[] = [];

  clear(): void {
    this.#heap.length = 0;
  }

  /** To be followed by `arrange` before the next `first`. */
  add(offer: Offer): void {
    this.#heap.push(offer);
  }

  arrange(): void {
    for (let at = (this.#heap.length >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  get first(): Offer | undefined {
    return this.#heap[0];
  }

  /** Puts the first one in its place after its ratio has changed. */
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
