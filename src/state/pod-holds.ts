/**
 * Pods that provisioning leaves out of its solves for a while, because placing them has failed in a way that would repeat.
 * Each hold lasts twice as long as the one before. A hold is one of all pods that are alike: to delete a pod and to make
 * it anew does not end it.
 */
import { LRUCache } from 'lru-cache';
import type { Pod } from '../api/kubernetes.ts';
import { monotonicMs, type Timepiece } from '../lib/clock.ts';
import { timestamp } from '../lib/times.ts';
import { likenessOf } from './pod-likeness.ts';

export const FIRST_HOLD_MS = 5 * 60_000;
export const LONGEST_HOLD_MS = 60 * 60_000;
/** Holds that are remembered. Beyond it the pods that were held longest ago are let go first. */
const MOST_HOLDS = 10_000;

/** Codes are public. */
export type HoldCode =
  /** Nodes that a NodePool launched for such pods served no purpose. See `LaunchBudget`. */
  | 'not-bound'
  /** The engine did not answer in time, or its worker died, while it placed the pod. */
  | 'solver-stuck';

interface PodHold {
  readonly code: HoldCode;
  /** For events and logs. */
  readonly text: string;
  /** Begin and end of the hold, by `monotonicMs`. */
  readonly sinceMs: number;
  readonly untilMs: number;
  /** How often in succession such pods have been held. */
  readonly times: number;
}

/** Why the pod is left out now; undefined when it is not. */
export type HoldOf = (pod: Pod) => PodHold | undefined;

/** A number of `monotonicMs` as the time that it is to people. */
export const wallTimeOf = (clock: Timepiece, atMs: number): string =>
  timestamp(clock.now() + atMs - monotonicMs(clock));

export class PodHolds {
  readonly #clock: Timepiece;
  /** By what pods that are alike have in common. */
  readonly #holds = new LRUCache<string, PodHold>({ max: MOST_HOLDS });

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Leaves the pod, and those like it, out from now on. */
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
   * Why the pod is left out now; undefined when it is not. A hold that has ended counts for the next one for as long as
   * the longest lasts.
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
