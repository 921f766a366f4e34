/** Readable part of a clock. */
export interface Timepiece {
  /** Milliseconds since the Unix epoch, for comparison with times of the API server and the cloud. May jump. */
  now(): number;
  /** Monotonic milliseconds, if `now` may be set or may jump. Use `monotonicMs` to read this value. */
  monotonic?(): number;
  /** `now` of the machine's own clock, if `now` follows another clock. Use `since` to read this value. */
  machineNow?(): number;
}

/** Headers of an API server response that show the clock of the API server. */
export interface DatedResponse {
  /** The header `Date`. */
  readonly date: string | undefined;
  /** The header `Age`, which only caches send. */
  readonly age: string | undefined;
  /** Time at which the request was sent, by `monotonicMs`. */
  readonly sentMs: number;
}

/** Time as a dependency, so that tests and the local world can run it faster or by hand. */
export interface Clock extends Timepiece {
  /** Resolves after `ms` of this clock's time. If `signal` aborts, resolves early and without an error. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fire` once after `ms` of this clock's time. Returns a function that cancels the call. */
  after(ms: number, fire: () => void): () => void;
  /** Corrects a clock that follows the API server's clock. */
  correct?(response: DatedResponse): void;
}

/** Time since a moment, in milliseconds. */
export interface Elapsed {
  /** Lower bound of the time that passed elsewhere: the running time of this process, without sleep of the machine. */
  atLeast(): number;
  /** Upper bound of the time that passed elsewhere, unless the machine slept and its time was set back. */
  atMost(): number;
}

/**
 * Returns the milliseconds of a counter that is never set. Use this counter to measure durations within this process. The
 * counter stops while the machine sleeps, and its start is arbitrary. Compare its values only with each other, never with
 * `now` or with a time that another process wrote.
 */
export const monotonicMs = (clock: Timepiece): number => clock.monotonic?.() ?? clock.now();

/** Starts a measurement of the time since this call. */
export function since(clock: Timepiece): Elapsed {
  // does not use the clock that `now` may follow, because a correction of that clock is not elapsed time
  const machineNow = (): number => clock.machineNow?.() ?? clock.now();
  const [setAt, startedMs] = [machineNow(), monotonicMs(clock)];
  const ranMs = (): number => monotonicMs(clock) - startedMs;
  return { atLeast: ranMs, atMost: () => Math.max(machineNow() - setAt, ranMs()) };
}

/**
 * Maximum duration of one timer. Timers count only the time that the machine runs. If the machine slept, or if its time was
 * set forward, this limit ensures that the clock soon notices a deadline in the past. (The runtime supports timers of at
 * most 24 days.)
 */
const LONGEST_TIMER_MS = 60_000;

/**
 * Returns the clock of the machine, which follows each change of the machine's time. Deadlines are points in time from API
 * objects, not durations of this process.
 */
export const realClock = (): Clock => ({
  ...ticking(1, () => Date.now(), false),
  // starts from about the epoch, because other code uses values near zero for times in the distant past
  monotonic: () => performance.timeOrigin + performance.now(),
});

/**
 * Returns an independent clock that starts at `originMs` and runs `factor` times as fast as real time. Changes of the
 * machine's time do not affect this clock.
 * @throws RangeError if `factor` is not above 0
 */
export function steadyClock(factor = 1, originMs: number = Date.now()): Clock {
  if (!(factor > 0))
    throw new RangeError(`Cannot run a clock: the time scale is ${factor}, but must be greater than 0`);
  const started = performance.now();
  return ticking(factor, () => Math.floor(originMs + (performance.now() - started) * factor), true);
}

function ticking(factor: number, now: () => number, isSteady: boolean): Clock {
  const after = (ms: number, fire: () => void): (() => void) => {
    const dueMs = now() + ms;
    let timer: NodeJS.Timeout | undefined;
    const arm = (leftMs: number): void => {
      const partMs = Math.min(leftMs, LONGEST_TIMER_MS);
      timer = setTimeout(() => {
        // Timers may fire a millisecond early. This is a long time if the clock runs fast. If the clock may be set
        // back, the rest must not depend on its time, because a change would prolong the wait.
        const restMs = isSteady ? (dueMs - now()) / factor : leftMs - partMs;
        return restMs > 0 && now() < dueMs ? arm(restMs) : fire();
      }, partMs);
    };
    arm(Math.max(0, ms / factor));
    return () => clearTimeout(timer);
  };
  return {
    now,
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
