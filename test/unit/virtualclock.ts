/** A clock that moves only when a test moves it. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { Clock } from '../../src/lib/clock.ts';
import { timeline } from '../support/timeline.ts';

export interface VirtualClock extends Clock {
  /** Moves time on, firing what falls due in order, and lets what it started run until nothing more happens. */
  advance(ms: number): Promise<void>;
  /** Lets what is ready run, without moving time. */
  settle(): Promise<void>;
  /** Number of timers that have not fired. */
  readonly waiting: number;
}

// promises resolve in micro-tasks, one turn of the event loop runs them all; a few turns let callbacks chain
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await immediate();
};

export function virtualClock(startMs: number = Date.UTC(2026, 0, 1)): VirtualClock {
  const time = timeline(startMs);
  return {
    now: time.now,
    after: time.after,
    sleep: time.sleep,
    settle,
    advance: async (ms) => {
      await settle();
      await time.advance(ms, settle);
    },
    get waiting() {
      return time.waiting;
    },
  };
}

/** The clock of a machine whose time can be set, which its other measure does not follow. */
export interface SettableClock extends VirtualClock {
  /** Puts the time forward, or back by a negative number of milliseconds. */
  put(ms: number): void;
}

export function settableClock(startMs?: number): SettableClock {
  const clock = virtualClock(startMs);
  let putMs = 0;
  return {
    ...clock,
    get waiting() {
      return clock.waiting;
    },
    now: () => clock.now() + putMs,
    monotonic: clock.now,
    put: (ms) => {
      putMs += ms;
    },
  };
}
