/**
 * Clocks that run at a multiple of real time only while the process waits, and at real time while it computes. On a
 * slow or busy machine a scenario takes longer, but has the same events in the same order. A second process can share
 * the time: one clock leads, the other follows over the channel between them, and time runs fast only while both wait.
 */
import { performance } from 'node:perf_hooks';
import { setImmediate as immediate } from 'node:timers/promises';
import type { Clock } from '#lib/clock';
import { timeline } from './timeline.ts';

export interface PacedClock extends Clock {
  /** Runs `factor` times as fast as real time from now on, and returns the previous factor. */
  speed(factor: number): number;
  /** Real time in milliseconds in which the process waited or computed, without time that other processes used. */
  calmMs(): number;
  /** Stops time: sleeping callers never wake. */
  stop(): void;
}

/** The other process, as used by the leading clock. */
export interface Follower {
  tell(nowMs: number): void;
}

export interface LeadingClock extends PacedClock {
  /** Advances the follower's time together with this clock. Undefined ends this. */
  lead(follower: Follower | undefined): void;
  /** Reports that the follower has reached the requested time, and has waited for this long since its last report. */
  followed(waitedMs: number): void;
}

/** Interval in which time advances, in real milliseconds. */
const STEP_MS = 5;
/** A longer interval between two steps means that the machine did not schedule the process. */
const LONGEST_STEP_MS = 2 * STEP_MS;

/** @param initialFactor seconds of this clock per second of waiting */
export function pacedClock(initialFactor: number): LeadingClock {
  const time = timeline(Date.now());
  let factor = initialFactor;
  let calmMs = 0;
  let seen = performance.eventLoopUtilization();
  let running = true;
  let follower: Follower | undefined;
  let isAwaited = false;
  /** Time for which the follower has waited and which its clock has not advanced yet. */
  let creditMs = 0;

  const move = async (): Promise<void> => {
    const used = performance.eventLoopUtilization();
    const waitedMs = Math.min(used.idle - seen.idle, LONGEST_STEP_MS);
    const computedMs = Math.min(used.active - seen.active, LONGEST_STEP_MS);
    seen = used;
    calmMs += waitedMs + computedMs;
    const bothMs = follower === undefined ? waitedMs : Math.min(waitedMs, creditMs);
    creditMs = Math.max(0, creditMs - bothMs);
    await time.advance(bothMs * factor + (waitedMs - bothMs) + computedMs, () => immediate());
    if (follower !== undefined && !isAwaited) {
      isAwaited = true;
      follower.tell(time.now());
    }
    if (running) setTimeout(() => void move(), STEP_MS).unref();
  };
  void move();

  return {
    now: time.now,
    after: time.after,
    sleep: time.sleep,
    speed(next) {
      const before = factor;
      factor = next;
      return before;
    },
    calmMs: () => calmMs,
    stop() {
      running = false;
    },
    lead(next) {
      follower = next;
      isAwaited = false;
      creditMs = 0;
    },
    followed(waitedMs) {
      isAwaited = false;
      creditMs = Math.min(LONGEST_STEP_MS, creditMs + waitedMs);
    },
  };
}

/** Longest time without a message of the leading clock on a busy machine, in real milliseconds. */
const LONGEST_SILENCE_MS = 5_000;

export interface FollowingClock extends Clock {
  /**
   * Time of the machine. It includes a pause of the process immediately, like the clock of a real machine. `now`
   * includes the pause only after the next message of the leading clock, when the process may already have handled
   * other input.
   */
  machineNow(): number;
  /** Advances to this time, and returns how long the process has waited since the last call. */
  follow(nowMs: number): Promise<number>;
  /** The process counts as computing while `work` runs elsewhere. */
  computing<T>(work: Promise<T>): Promise<T>;
}

export function followingClock(startMs: number): FollowingClock {
  const time = timeline(startMs);
  let seen = performance.eventLoopUtilization();
  let computing = 0;
  let followedAt = performance.now();
  return {
    now: time.now,
    machineNow: () => time.now() + Math.max(0, performance.now() - followedAt - LONGEST_SILENCE_MS),
    after: time.after,
    sleep: time.sleep,
    async follow(nowMs) {
      followedAt = performance.now();
      const ms = Math.max(0, nowMs - time.now());
      // After a pause, timers that were due during the pause see the time after it, as on a real machine.
      await (ms > LONGEST_SILENCE_MS ? time.jump : time.advance)(ms, () => immediate());
      const used = performance.eventLoopUtilization();
      const waitedMs = computing > 0 ? 0 : used.idle - seen.idle;
      seen = used;
      return waitedMs;
    },
    async computing(work) {
      computing += 1;
      try {
        return await work;
      } finally {
        computing -= 1;
      }
    },
  };
}
