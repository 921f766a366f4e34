/**
 * Bounds the number of objects that garbage collection deletes within ten minutes. Many objects without an owner indicate lost
 * owners: a second cluster with the same name, or an API server that was restored from a backup.
 */
import { monotonicMs, type Timepiece } from '../lib/clock.ts';

const MINUTE_MS = 60_000;
/** Period of the share. It is longer than a pass, so that many small passes collect no more than one large pass. */
const WINDOW_MS = 10 * MINUTE_MS;
const FEW = 2;
const PART = 10;
/** Delay of a candidate after a failure. Each successive failure doubles it up to one window. */
const FIRST_DELAY_MS = MINUTE_MS;

/** Objects that may be collected within the window without a hold: a tenth of the cluster, and at least two. */
export const mostAtOnce = (total: number): number => Math.max(FEW, Math.floor(total / PART));

interface Failure {
  readonly times: number;
  /** Time before which the candidate is not tried again, by `monotonicMs`. */
  readonly notBeforeMs: number;
}

interface Candidates {
  /** Ids without an owner, confirmed by the API server, in the order in which they are collected. */
  readonly ids: readonly string[];
  readonly share: number;
  /** Starts a hold even if the candidates are within the share. */
  readonly suspect?: boolean;
}

interface Verdict {
  readonly now: readonly string[];
  /** Candidates that wait for the end of a hold or for a share. */
  readonly held: readonly string[];
  /** Milliseconds until the first held object may be collected. */
  readonly waitMs: number;
}

export class CollectionBrake {
  readonly #clock: Timepiece;
  readonly #holdMs: number;
  /** Time of the first pass that found each candidate, by `monotonicMs`. A candidate that gets an owner is removed. */
  #sinceMs: ReadonlyMap<string, number> = new Map();
  /** Candidates whose last try failed. */
  #failures: ReadonlyMap<string, Failure> = new Map();
  #collectedMs: number[] = [];
  #isHolding = false;
  #share = 0;

  /** @param holdMs duration of the hold of each candidate */
  constructor(clock: Timepiece, holdMs: number) {
    this.#clock = clock;
    this.#holdMs = holdMs;
  }

  /** Decides on all candidates of a pass. A hold ends when a pass has no candidates, or only those that failed. */
  decide({ ids, share, suspect = false }: Candidates): Verdict {
    const nowMs = monotonicMs(this.#clock);
    this.#sinceMs = new Map(ids.map((id) => [id, this.#sinceMs.get(id) ?? nowMs]));
    this.#failures = new Map([...this.#failures].filter(([id]) => this.#sinceMs.has(id)));
    this.#collectedMs = this.#collectedMs.filter((atMs) => atMs > nowMs - WINDOW_MS);
    // a candidate that AWS refuses to delete must not start or prolong a hold
    const fresh = ids.filter((id) => !this.#failures.has(id));
    if (fresh.length === 0) this.#isHolding = false;
    // A hold keeps its first share, because the cluster shrinks while its orphans are collected.
    this.#share = this.#isHolding ? Math.max(this.#share, share) : share;
    const room = Math.max(0, this.#share - this.#collectedMs.length);
    this.#isHolding ||= fresh.length > 0 && (suspect || fresh.length > room);
    const isDue = (id: string): boolean => !this.#isHolding || this.#dueMs(id) <= nowMs;
    // failures come last, so that they do not use up the share
    const now = [...fresh, ...this.#retriable(nowMs)].filter(isDue).slice(0, room);
    const taken = new Set(now);
    const held = fresh.filter((id) => !taken.has(id));
    return { now, held, waitMs: this.#waitMs(held, room - now.length, nowMs) };
  }

  #dueMs(id: string): number {
    return (this.#sinceMs.get(id) ?? 0) + this.#holdMs;
  }

  #waitMs(held: readonly string[], room: number, nowMs: number): number {
    const dueMs = Math.min(...held.map((id) => this.#dueMs(id)));
    const [oldestMs = nowMs] = this.#collectedMs;
    const roomMs = room > 0 ? nowMs : oldestMs + WINDOW_MS;
    return held.length === 0 ? 0 : Math.max(0, dueMs - nowMs, roomMs - nowMs);
  }

  /** Returns the failed candidates that may be tried again, in the order in which their delays ended. */
  #retriable(nowMs: number): readonly string[] {
    return [...this.#failures]
      .filter(([, { notBeforeMs }]) => notBeforeMs <= nowMs)
      .toSorted(([, a], [, b]) => a.notBeforeMs - b.notBeforeMs)
      .map(([id]) => id);
  }

  /** Number of candidates whose last try failed. */
  get failing(): number {
    return this.#failures.size;
  }

  /** Delays the next try of a candidate. Returns the milliseconds until then. */
  failed(id: string): number {
    const times = (this.#failures.get(id)?.times ?? 0) + 1;
    const delayMs = Math.min(WINDOW_MS, FIRST_DELAY_MS * 2 ** Math.min(times - 1, 10));
    this.#failures = new Map(this.#failures).set(id, { times, notBeforeMs: monotonicMs(this.#clock) + delayMs });
    return delayMs;
  }

  /** Counts an object that was collected. */
  collected(): void {
    this.#collectedMs.push(monotonicMs(this.#clock));
  }
}
