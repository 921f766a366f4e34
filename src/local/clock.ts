/** The local world's time; the same shape as the operator's clock, so that both can share one. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Resolves after `ms` of this clock's time; resolves early, without error, when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fire` once after `ms` of this clock's time; answers a function that cancels it. */
  after(ms: number, fire: () => void): () => void;
}

/** What Node's timers can count; they would fire at once beyond it. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A clock that starts at `originMs` and runs `timeScale` times as fast as real time. */
export function scaledClock(timeScale = 1, originMs: number = Date.now()): Clock {
  if (!(timeScale > 0)) throw new RangeError(`Cannot run a clock: time scale is ${timeScale}, it must be above 0`);
  const started = performance.now();
  const exact = (): number => originMs + (performance.now() - started) * timeScale;
  const after = (ms: number, fire: () => void): (() => void) => {
    const dueAt = exact() + Math.max(0, ms);
    let timer: NodeJS.Timeout;
    // Timers count whole milliseconds and may fire one early, which is long in a fast world.
    const arm = (): void => {
      const waitMs = Math.max(0, dueAt - exact()) / timeScale;
      timer = setTimeout(() => (exact() < dueAt ? arm() : fire()), Math.min(waitMs, LONGEST_TIMER_MS));
    };
    arm();
    return () => clearTimeout(timer);
  };
  return {
    now: () => Math.floor(exact()),
    after,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const wake = (): void => {
          cancel();
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const cancel = after(ms, wake);
        signal?.addEventListener('abort', wake, { once: true });
      }),
  };
}

/** A time as Kubernetes writes it in most objects: RFC 3339, whole seconds. */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** A time as leases write it: RFC 3339 with microseconds. */
export const microTimestamp = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');
