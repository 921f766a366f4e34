/**
 * A clock for worlds that live in this process. Its time runs at a multiple of real time only while the process waits,
 * and at real time while it computes: on a slow or busy machine a scenario takes longer, but what happens in it, and in
 * which order, stays the same.
 */
import { performance } from 'node:perf_hooks';
import { setImmediate as immediate } from 'node:timers/promises';
import type { Clock } from '../../src/kube/clock.ts';
import { timeline } from './timeline.ts';

export interface PacedClock extends Clock {
  /** Runs `factor` times as fast as real time from now on; answers the factor before. */
  speed(factor: number): number;
  /** Real time, in milliseconds, in which the process waited or computed, without what other processes took from it. */
  calmMs(): number;
  /** Time ends: what still sleeps never wakes. */
  stop(): void;
}

/** How often time moves, in real milliseconds. */
const STEP_MS = 5;
/** Waiting longer than this between two moves means that the machine did not let the process run. */
const LONGEST_STEP_MS = 2 * STEP_MS;

/** @param initialFactor seconds of this clock in one second of waiting */
export function pacedClock(initialFactor: number): PacedClock {
  const time = timeline(Date.now());
  let factor = initialFactor;
  let calmMs = 0;
  let seen = performance.eventLoopUtilization();
  let running = true;

  const move = async (): Promise<void> => {
    const used = performance.eventLoopUtilization();
    const waitedMs = Math.min(used.idle - seen.idle, LONGEST_STEP_MS);
    const computedMs = Math.min(used.active - seen.active, LONGEST_STEP_MS);
    seen = used;
    calmMs += waitedMs + computedMs;
    await time.advance(waitedMs * factor + computedMs, () => immediate());
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
  };
}
