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

/** Objects that may be collected within the window without a hold: a tenth of the cluster, and at least two. */
export const shareOf = (total: number): number => Math.max(FEW, Math.floor(total / PART));

interface Candidates {
  /** Ids without an owner, confirmed by the API server, in the order in which they are collected. */
  readonly ids: readonly string[];
  readonly share: number;
  /** Starts a hold even if the candidates are within the share. */
  readonly suspect?: boolean;
}

interface Verdict {
  readonly now: readonly string[];
  readonly held: readonly string[];
  /** Milliseconds until the first held object may be collected. */
  readonly waitMs: number;
}

export class CollectionBrake {
  readonly #clock: Timepiece;
  readonly #holdMs: number;
  /** Time of the first pass that found each candidate, by `monotonicMs`. A candidate that gets an owner is removed. */
  #sinceMs: ReadonlyMap<string, number> = new Map();
  #collectedMs: number[] = [];
  #isHolding = false;
  #share = 0;

  /** @param holdMs duration of the hold of each candidate */
  constructor(clock: Timepiece, holdMs: number) {
    this.#clock = clock;
    this.#holdMs = holdMs;
  }

  /** Decides on all candidates of a pass. A hold ends when a pass has no candidates. */
  decide({ ids, share, suspect = false }: Candidates): Verdict {
    const nowMs = monotonicMs(this.#clock);
    this.#sinceMs = new Map(ids.map((id) => [id, this.#sinceMs.get(id) ?? nowMs]));
    this.#collectedMs = this.#collectedMs.filter((atMs) => atMs > nowMs - WINDOW_MS);
    if (ids.length === 0) this.#isHolding = false;
    // A hold keeps its first share, because the cluster shrinks while its orphans are collected.
    this.#share = this.#isHolding ? Math.max(this.#share, share) : share;
    const room = Math.max(0, this.#share - this.#collectedMs.length);
    this.#isHolding ||= ids.length > 0 && (suspect || ids.length > room);
    const isDue = (id: string): boolean => !this.#isHolding || this.#dueMs(id) <= nowMs;
    const now = ids.filter(isDue).slice(0, room);
    const taken = new Set(now);
    const held = ids.filter((id) => !taken.has(id));
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

  /** Counts an object that was collected. */
  collected(): void {
    this.#collectedMs.push(monotonicMs(this.#clock));
  }
}
