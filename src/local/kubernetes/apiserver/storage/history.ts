/** The recent events of one collection: what watches resume from and what old revisions are rebuilt with. */
import type { Entry } from './entry.ts';

export interface Change {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The object after the change; of a deletion its last state, at the revision of the deletion. */
  readonly entry: Entry;
  readonly before: Entry | undefined;
}

export class History {
  /** Changes up to here are forgotten. */
  compacted = 0;
  readonly #limit: number;
  #changes: Change[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(change: Change): void {
    this.#changes.push(change);
    // drops a quarter at once: removing from the front one by one would cost a copy each
    if (this.#changes.length > this.#limit * 1.25) this.#forget(this.#changes.length - this.#limit);
  }

  /** Changes after `revision`, oldest first; undefined when some are forgotten. */
  since(revision: number): readonly Change[] | undefined {
    if (revision < this.compacted) return undefined;
    return this.#changes.slice(this.#indexAfter(revision));
  }

  /** Forgets everything up to `revision`. */
  expire(revision: number): void {
    this.#forget(this.#indexAfter(revision));
    this.compacted = Math.max(this.compacted, revision);
  }

  #indexAfter(revision: number): number {
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#changes[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #forget(count: number): void {
    this.compacted = Math.max(this.compacted, this.#changes[count - 1]?.revision ?? 0);
    this.#changes = this.#changes.slice(count);
  }
}
