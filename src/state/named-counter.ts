/** Counts work in progress by name, until other state shows this work. */
export class NamedCounter {
  readonly #counts = new Map<string, number>();
  readonly #changed: () => void;

  /** @param changed called if a count changes */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, count = 1): void {
    this.#counts.set(name, this.of(name) + count);
    this.#changed();
  }

  take(name: string, count = 1): void {
    const left = this.of(name) - count;
    if (left > 0) this.#counts.set(name, left);
    else this.#counts.delete(name);
    this.#changed();
  }
}
