/** A clock for whole-operator scenarios: runs at a steady multiple of real time, and faster for a while when asked. */
import type { Clock } from '../../src/kube/clock.ts';

export interface ScenarioClock extends Clock {
  /** Runs `factor` times as fast as real time from now on; answers the factor before. */
  speed(factor: number): number;
}

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
  handle: ReturnType<typeof setTimeout>;
}

export function scenarioClock(initialFactor: number): ScenarioClock {
  let factor = initialFactor;
  let originMs = Date.now();
  let startedMs = performance.now();
  const timers = new Set<Timer>();
  const now = (): number => originMs + (performance.now() - startedMs) * factor;
  const arm = (timer: Timer): void => {
    clearTimeout(timer.handle);
    timer.handle = setTimeout(
      () => {
        timers.delete(timer);
        timer.fire();
      },
      Math.max(0, (timer.dueMs - now()) / factor),
    );
  };
  const after = (ms: number, fire: () => void): (() => void) => {
    const timer: Timer = { dueMs: now() + ms, fire, handle: setTimeout(() => {}, 0) };
    timers.add(timer);
    arm(timer);
    return () => {
      timers.delete(timer);
      clearTimeout(timer.handle);
    };
  };
  return {
    now: () => Math.floor(now()),
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
    speed(next) {
      const before = factor;
      originMs = now();
      startedMs = performance.now();
      factor = next;
      for (const timer of timers) arm(timer);
      return before;
    },
  };
}
