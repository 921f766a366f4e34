/** A clock that moves only when a test moves it. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { Clock } from '../../src/kube/clock.ts';

export interface VirtualClock extends Clock {
  /** Moves time on, firing what falls due in order, and lets what it started run until nothing more happens. */
  advance(ms: number): Promise<void>;
  /** Lets what is ready run, without moving time. */
  settle(): Promise<void>;
  /** Number of timers that have not fired. */
  readonly waiting: number;
}

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

export function virtualClock(startMs: number = Date.UTC(2026, 0, 1)): VirtualClock {
  let nowMs = startMs;
  const timers = new Set<Timer>();

  const after = (ms: number, fire: () => void): (() => void) => {
    const timer = { dueMs: nowMs + Math.max(0, ms), fire };
    timers.add(timer);
    return () => timers.delete(timer);
  };

  // promises resolve in micro-tasks, one turn of the event loop runs them all; a few turns let callbacks chain
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await immediate();
  };

  const nextDue = (untilMs: number): Timer | undefined => {
    let first: Timer | undefined;
    for (const timer of timers) {
      if (timer.dueMs <= untilMs && (first === undefined || timer.dueMs < first.dueMs)) first = timer;
    }
    return first;
  };

  return {
    now: () => nowMs,
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
    settle,
    advance: async (ms) => {
      const untilMs = nowMs + ms;
      await settle();
      for (let timer = nextDue(untilMs); timer !== undefined; timer = nextDue(untilMs)) {
        timers.delete(timer);
        nowMs = Math.max(nowMs, timer.dueMs);
        timer.fire();
        await settle();
      }
      nowMs = untilMs;
    },
    get waiting() {
      return timers.size;
    },
  };
}
