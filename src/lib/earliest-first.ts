/** Binary heap that returns the first item of an order. */
export class EarliestFirst<T> {
  readonly #items: T[] = [];
  readonly #isBefore: (a: T, b: T) => boolean;

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore;
  }

  /** Next item, which stays in the heap. */
  get first(): T | undefined {
    return this.#items[0];
  }

  get size(): number {
    return this.#items.length;
  }

  push(item: T): void {
    this.#items.push(item);
    let at = this.#items.length - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!this.#swapIf(at, above)) return;
      at = above;
    }
  }

  pop(): T | undefined {
    const [first] = this.#items;
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return first;
    this.#items[0] = last;
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const [a, b] = [this.#items[left], this.#items[left + 1]];
      if (a === undefined) return first;
      const child = b !== undefined && this.#isBefore(b, a) ? left + 1 : left;
      if (!this.#swapIf(child, at)) return first;
      at = child;
    }
  }

  /** Swaps two items if the lower item comes first. Returns true if they were swapped. */
  #swapIf(lower: number, upper: number): boolean {
    const [low, high] = [this.#items[lower], this.#items[upper]];
    if (low === undefined || high === undefined || !this.#isBefore(low, high)) return false;
    this.#items[lower] = high;
    this.#items[upper] = low;
    return true;
  }
}
