/** Virtual pods that reserve room, by their capacity buffer. */
import type { Pod } from '#api/objects';

export class VirtualPods {
  /** Returns false from the start of the process until every buffer was processed. No decisions should be made before. */
  isKnown: () => boolean = () => true;
  readonly #byBuffer = new Map<string, readonly Pod[]>();
  #list: readonly Pod[] | undefined;
  readonly #changed: () => void;

  /** @param changed called if the pods change */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  list(): readonly Pod[] {
    this.#list ??= [...this.#byBuffer.keys()].sort().flatMap((buffer) => this.#byBuffer.get(buffer) ?? []);
    return this.#list;
  }

  /** Returns the number of virtual pods of all other buffers. */
  countBeside(buffer: string): number {
    return this.list().length - (this.#byBuffer.get(buffer)?.length ?? 0);
  }

  replace(buffer: string, pods: readonly Pod[]): void {
    if (pods.length > 0) this.#byBuffer.set(buffer, pods);
    else this.#byBuffer.delete(buffer);
    this.#list = undefined;
    this.#changed();
  }
}
