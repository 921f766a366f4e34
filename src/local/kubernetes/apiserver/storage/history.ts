/**
 * Recent events of one collection. Watches resume from them, and lists at old revisions are reconstructed from them.
 */
import type { StoredEntry } from './entry.ts';

export interface StoredChange {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The object after this change. For a deletion, its last state with the revision of the deletion. */
  readonly entry: StoredEntry;
  readonly before: StoredEntry | undefined;
}

export class History {
  /** Highest revision whose changes have been discarded. */
  compacted = 0;
  readonly #limit: number;
  #changes: StoredChange[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(change: StoredChange): void {
    this.#changes.push(change);
    // discards a quarter in one step, because each removal from the front copies the array
    if (this.#changes.length > this.#limit * 1.25) this.#forget(this.#changes.length - this.#limit);
  }

  /** Returns the changes after `revision`, oldest first, or undefined if some of them have been discarded. */
  since(revision: number): readonly StoredChange[] | undefined {
    if (revision < this.compacted) return undefined;
    return this.#changes.slice(this.#indexAfter(revision));
  }

  /** Discards all changes up to `revision`. */
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
