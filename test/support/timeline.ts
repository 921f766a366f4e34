/** Time that stands still until a test advances it, the base of all test clocks. */
import type { Clock } from '#lib/clock';

export interface Timeline extends Clock {
  /**
   * Advances time by `ms` and calls due timers in order. `settle` is awaited after each call, so that started work can
   * run before time advances.
   */
  advance(ms: number, settle: () => Promise<void>): Promise<void>;
  /** Advances time in one step, then calls due timers in order, like a machine that has slept. */
  jump(ms: number, settle: () => Promise<void>): Promise<void>;
  /** Number of pending timers. */
  readonly waiting: number;
}

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

export function timeline(startMs: number): Timeline {
  let nowMs = startMs;
  const timers = new Set<Timer>();

  const after = (ms: number, fire: () => void): (() => void) => {
    const timer = { dueMs: nowMs + Math.max(0, ms), fire };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  const nextDue = (untilMs: number): Timer | undefined => {
    let first: Timer | undefined;
    for (const timer of timers) {
      if (timer.dueMs <= untilMs && (first === undefined || timer.dueMs < first.dueMs)) first = timer;
    }
    return first;
  };

  const advance = async (ms: number, settle: () => Promise<void>): Promise<void> => {
    const untilMs = nowMs + ms;
    for (let timer = nextDue(untilMs); timer !== undefined; timer = nextDue(untilMs)) {
      timers.delete(timer);
      nowMs = Math.max(nowMs, timer.dueMs);
      timer.fire();
      await settle();
    }
    nowMs = untilMs;
  };

  return {
    now: () => Math.floor(nowMs),
    after,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const stop = (): void => {
          cancel();
          resolve();
        };
        const cancel = after(ms, () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        });
        signal?.addEventListener('abort', stop, { once: true });
      }),
    advance,
    async jump(ms, settle) {
      nowMs += ms;
      await advance(0, settle);
    },
    get waiting() {
      return timers.size;
    },
  };
}
