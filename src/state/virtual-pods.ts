/** Pods that do not exist and that room is kept for, by the capacity buffer that asks for it. */
import type { Pod } from '../api/kubernetes.ts';

export class VirtualPods {
  /** False from the start of the process until every buffer was looked at: nothing should be decided before. */
  isKnown: () => boolean = () => true;
  readonly #byBuffer = new Map<string, readonly Pod[]>();
  #list: readonly Pod[] | undefined;
  readonly #changed: () => void;

  /** @param changed is called if the pods change */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  list(): readonly Pod[] {
    this.#list ??= [...this.#byBuffer.keys()].sort().flatMap((buffer) => this.#byBuffer.get(buffer) ?? []);
    return this.#list;
  }

  /** Number of those that other buffers ask for. */
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
