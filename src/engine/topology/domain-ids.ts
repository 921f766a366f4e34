/** Maps the values of one topology label to small integers, so that counts per domain are arrays. */
import { compareText } from '../instance-types.ts';

export class DomainIds {
  readonly #names: string[] = [];
  readonly #ids = new Map<string, number>();
  #sorted: readonly number[] = [];

  get size(): number {
    return this.#names.length;
  }

  idOf(name: string): number {
    let id = this.#ids.get(name);
    if (id === undefined) {
      id = this.#names.length;
      this.#names.push(name);
      this.#ids.set(name, id);
    }
    return id;
  }

  /** Returns undefined for a name that no node, NodePool or claim has had so far. */
  find(name: string): number | undefined {
    return this.#ids.get(name);
  }

  name(id: number): string {
    return this.#names[id] ?? '';
  }

  /** All ids, sorted by name. */
  get sorted(): readonly number[] {
    if (this.#sorted.length !== this.#names.length) {
      const ids = this.#names.map((_, id) => id);
      this.#sorted = ids.sort((a, b) => compareText(this.name(a), this.name(b)));
    }
    return this.#sorted;
  }
}
