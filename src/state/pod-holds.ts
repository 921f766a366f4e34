/**
 * Holds pods that provisioning excludes from its solves for some time, because placing them has failed and would fail again. Each
 * hold lasts twice as long as the previous hold. A hold applies to all similar pods, so deleting and recreating a pod does not
 * end the hold.
 */
import { LRUCache } from 'lru-cache';
import type { Pod } from '#api/objects';
import { timestamp } from '#lib';
import { monotonicMs, type Timepiece } from '#lib/clock';
import { likenessOf } from './pod-likeness.ts';

export const FIRST_HOLD_MS = 5 * 60_000;
export const LONGEST_HOLD_MS = 60 * 60_000;
/** Maximum number of holds. Beyond this number, the least recently used hold ends first. */
const MOST_HOLDS = 10_000;

/** Public codes. */
export type HoldCode =
  /** Nodes that a NodePool launched for such pods, or for other pods of their namespace, remained unused. See `LaunchBudget`. */
  | 'not-bound'
  /** Launches are paused. */
  | 'paused'
  /** The NodePool is observed: its launches are reported and not carried out. */
  | 'observed'
  /** The engine did not respond in time, or its worker died, while it placed the pod. */
  | 'solver-stuck';

export interface PodHold {
  readonly code: HoldCode;
  /** Text for events and logs. */
  readonly text: string;
  /** Start and end of this hold, by `monotonicMs`. */
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Number of consecutive holds of such pods. */
  readonly times: number;
}

/** Returns the current hold of a pod, or undefined if the pod is not held. */
export type HoldOf = (pod: Pod) => PodHold | undefined;

/** Formats a value of `monotonicMs` as a wall-clock time for people. */
export const wallTimeOf = (clock: Timepiece, atMs: number): string =>
  timestamp(clock.now() + atMs - monotonicMs(clock));

export class PodHolds {
  readonly #clock: Timepiece;
  /** Holds by the likeness of pods. */
  readonly #holds = new LRUCache<string, PodHold>({ max: MOST_HOLDS });

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Starts a hold of a pod and of all similar pods. */
  hold(pod: Pod, { code, text }: Pick<PodHold, 'code' | 'text'>): PodHold {
    const likeness = likenessOf(pod);
    const nowMs = monotonicMs(this.#clock);
    const before = this.#holds.get(likeness);
    const times = before !== undefined && nowMs - before.untilMs <= LONGEST_HOLD_MS ? before.times + 1 : 1;
    const forMs = Math.min(FIRST_HOLD_MS * 2 ** (times - 1), LONGEST_HOLD_MS);
    const hold = { code, text, times, sinceMs: nowMs, untilMs: nowMs + forMs };
    this.#holds.set(likeness, hold);
    return hold;
  }

  /**
   * Returns the current hold of a pod, or undefined if the pod is not held. After a hold has ended, it still counts for the
   * duration of the next hold, for as long as the longest hold.
   */
  heldNow(pod: Pod): PodHold | undefined {
    if (this.#holds.size === 0) return undefined;
    const hold = this.#holds.get(likenessOf(pod));
    return hold !== undefined && hold.untilMs > monotonicMs(this.#clock) ? hold : undefined;
  }

  get size(): number {
    return this.#holds.size;
  }
}
