/** Virtual pods that reserve room, by their capacity buffer or ProvisioningRequest. */
import type { Pod } from '#api/objects';

export class VirtualPods {
  readonly #sources: (() => boolean)[] = [];
  readonly #byOwner = new Map<string, readonly Pod[]>();
  #list: readonly Pod[] | undefined;
  readonly #changed: () => void;

  /** @param changed called if the pods change */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** @param isKnown returns false from the start of the process until all pods of the source are known */
  addSource(isKnown: () => boolean): void {
    this.#sources.push(isKnown);
  }

  /** Returns true if the pods of all sources are known. No decisions should be made before. */
  isKnown(): boolean {
    return this.#sources.every((isKnown) => isKnown());
  }

  list(): readonly Pod[] {
    this.#list ??= [...this.#byOwner.keys()].sort().flatMap((owner) => this.#byOwner.get(owner) ?? []);
    return this.#list;
  }

  /** Returns the number of virtual pods of all other owners. */
  countBeside(owner: string): number {
    return this.list().length - this.of(owner).length;
  }

  of(owner: string): readonly Pod[] {
    return this.#byOwner.get(owner) ?? [];
  }

  replace(owner: string, pods: readonly Pod[]): void {
    if (pods.length > 0) this.#byOwner.set(owner, pods);
    else this.#byOwner.delete(owner);
    this.#list = undefined;
    this.#changed();
  }
}
