/**
 * Bounds how much garbage collection takes at once. Many objects without an owner mean that something is wrong with the
 * owners: a second cluster with the same name, or an API server that was restored from a backup.
 */
import { monotonicMs, type Timepiece } from '../kube/clock.ts';

const MINUTE_MS = 60_000;
/** Time in which the share may be collected, so that a trickle does not pass what one large pass may not. */
export const WINDOW_MS = 10 * MINUTE_MS;
const FEW = 2;
const PART = 10;

/** What may be collected within the window without a hold: a tenth of the cluster, and two in any case. */
export const shareOf = (total: number): number => Math.max(FEW, Math.floor(total / PART));

export interface Candidates {
  /** Ids without an owner, confirmed by the API server, in the order in which they are collected. */
  readonly ids: readonly string[];
  readonly share: number;
  /** Whether to hold however few they are. */
  readonly suspect?: boolean;
}

export interface Verdict {
  readonly now: readonly string[];
  readonly held: readonly string[];
  /** Milliseconds until the first of the held ones may be collected. */
  readonly waitMs: number;
}

export class CollectionBrake {
  readonly #clock: Timepiece;
  readonly #holdMs: number;
  /** When each candidate was first seen, by `monotonicMs`. One that gets an owner in between starts anew. */
  #sinceMs: ReadonlyMap<string, number> = new Map();
  #collectedMs: number[] = [];
  #isHolding = false;
  #share = 0;

  /** @param holdMs how long each candidate is held */
  constructor(clock: Timepiece, holdMs: number) {
    this.#clock = clock;
    this.#holdMs = holdMs;
  }

  /** Decides on all candidates of a pass. A hold lasts until a pass has none. */
  decide({ ids, share, suspect = false }: Candidates): Verdict {
    const nowMs = monotonicMs(this.#clock);
    this.#sinceMs = new Map(ids.map((id) => [id, this.#sinceMs.get(id) ?? nowMs]));
    this.#collectedMs = this.#collectedMs.filter((atMs) => atMs > nowMs - WINDOW_MS);
    if (ids.length === 0) this.#isHolding = false;
    // The share of the beginning: the cluster shrinks while its orphans are collected.
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
