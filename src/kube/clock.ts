/** Time as a dependency, so that tests and the local world can run it faster or by hand. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Resolves after `ms` of this clock's time; resolves early, without error, when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fire` once after `ms` of this clock's time; answers a function that cancels it. */
  after(ms: number, fire: () => void): () => void;
}

/** Timers of the runtime hold no more; longer ones are taken in parts. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A clock that starts at `originMs` and runs `factor` times as fast as real time. */
export function realClock(factor = 1, originMs: number = Date.now()): Clock {
  const started = performance.now();
  const after = (ms: number, fire: () => void): (() => void) => {
    let timer: NodeJS.Timeout | undefined;
    const arm = (leftMs: number): void => {
      const partMs = Math.min(leftMs, LONGEST_TIMER_MS);
      timer = setTimeout(() => (leftMs > partMs ? arm(leftMs - partMs) : fire()), partMs);
    };
    arm(Math.max(0, ms / factor));
    return () => clearTimeout(timer);
  };
  return {
    now: () => Math.floor(originMs + (performance.now() - started) * factor),
    after,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const cancel = after(ms, () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        });
        const stop = (): void => {
          cancel();
          resolve();
        };
        signal?.addEventListener('abort', stop, { once: true });
      }),
  };
}
