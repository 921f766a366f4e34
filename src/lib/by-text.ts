/** Map from a text to one shared object. Objects with the same text must be equal. The map does not keep objects alive. */
export class ByText<T extends object> {
  readonly #known = new Map<string, WeakRef<T>>();
  readonly #gone = new FinalizationRegistry<string>((text) => {
    if (this.#known.get(text)?.deref() === undefined) this.#known.delete(text);
  });

  get size(): number {
    return this.#known.size;
  }

  /** Returns the object for a text, and creates it if the map has no object for the text. */
  of(text: string, make: () => T): T {
    const known = this.#known.get(text)?.deref();
    if (known !== undefined) return known;
    const made = make();
    this.#known.set(text, new WeakRef(made));
    this.#gone.register(made, text);
    return made;
  }
}
