/** Items that exist for some time, by name. */
export class NamedItems<T> {
  readonly #items = new Map<string, Set<{ readonly item: T }>>();

  /** Adds an item. The returned function removes it. */
  add(name: string, item: T): () => void {
    const entry = { item };
    const items = this.#items.get(name) ?? new Set();
    this.#items.set(name, items.add(entry));
    return () => {
      items.delete(entry);
      if (items.size === 0 && this.#items.get(name) === items) this.#items.delete(name);
    };
  }

  of(name: string): readonly T[] {
    return [...(this.#items.get(name) ?? [])].map(({ item }) => item);
  }
}
