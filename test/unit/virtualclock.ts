/** A clock that advances only when a test advances it. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { Clock } from '#lib/clock';
import { timeline } from '../support/timeline.ts';

export interface VirtualClock extends Clock {
  /** Advances the time, fires due timers in order, and waits until their effects are complete. */
  advance(ms: number): Promise<void>;
  /** Waits for pending callbacks without advancing the time. */
  settle(): Promise<void>;
  /** Number of timers that have not fired. */
  readonly waiting: number;
}

// one turn of the event loop runs all resolved promises; several turns also run callbacks of callbacks
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

/** A clock with an adjustable wall-clock time. Its monotonic time does not follow adjustments. */
export interface SettableClock extends VirtualClock {
  /** Moves the wall-clock time by milliseconds, which may be negative. */
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
