/** Objects by a text that is the same for equal ones. One that nobody holds any more is forgotten. */
export class ByText<T extends object> {
  readonly #known = new Map<string, WeakRef<T>>();
  readonly #gone = new FinalizationRegistry<string>((text) => {
    if (this.#known.get(text)?.deref() === undefined) this.#known.delete(text);
  });

  get size(): number {
    return this.#known.size;
  }

  of(text: string, make: () => T): T {
    const known = this.#known.get(text)?.deref();
    if (known !== undefined) return known;
    const made = make();
    this.#known.set(text, new WeakRef(made));
    this.#gone.register(made, text);
    return made;
  }
}
