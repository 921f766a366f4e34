/** What can be read of a clock. */
export interface Timepiece {
  /** Milliseconds since the Unix epoch: what the API server's and the cloud's times are compared with. May jump. */
  now(): number;
  /** Milliseconds that only ever grow, where `now` may be set or jump. Read it through `monotonicMs`. */
  monotonic?(): number;
  /** `now` of the machine's own clock, where `now` follows another clock. Read it through `since`. */
  machineNow?(): number;
}

/** Headers of a response of the API server that show its clock. */
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
  /** Resolves after `ms` of this clock's time; resolves early, without error, when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fire` once after `ms` of this clock's time; answers a function that cancels it. */
  after(ms: number, fire: () => void): () => void;
  /** Corrects a clock that follows the API server's clock. */
  correct?(response: DatedResponse): void;
}

/** Milliseconds since a moment. */
export interface Elapsed {
  /** Not more than passed for others: the time that the process ran, without what its machine slept. */
  atLeast(): number;
  /** Not less than passed for others, unless the machine slept and its time was put back. */
  atMost(): number;
}

/**
 * Milliseconds of a count that nobody sets, in which the durations that live in this process are measured. It stands
 * still while the machine sleeps, begins nowhere in particular, and is to be compared with nothing but itself: never
 * with `now`, nor with a time that somebody else wrote.
 */
export const monotonicMs = (clock: Timepiece): number => clock.monotonic?.() ?? clock.now();

export function since(clock: Timepiece): Elapsed {
  // not the clock that `now` may follow: its correction is not time that passed
  const machineNow = (): number => clock.machineNow?.() ?? clock.now();
  const [setAt, startedMs] = [machineNow(), monotonicMs(clock)];
  const ranMs = (): number => monotonicMs(clock) - startedMs;
  return { atLeast: ranMs, atMost: () => Math.max(machineNow() - setAt, ranMs()) };
}

/**
 * Timers are armed for no longer than this: they count the time that the machine runs, and a machine that slept, or whose
 * time was put forward, has to notice soon that a moment has passed. (Timers of the runtime hold 24 days at most.)
 */
const LONGEST_TIMER_MS = 60_000;

/** The machine's time, as it is set again: a deadline is a moment of the API server's objects, not a stretch of ours. */
export const realClock = (): Clock => ({
  ...ticking(1, () => Date.now(), false),
  // from about the epoch, so that no moment of the process is near zero, which elsewhere stands for long ago
  monotonic: () => performance.timeOrigin + performance.now(),
});

/** A clock of its own that starts at `originMs` and runs `factor` times as fast as real time, whatever becomes of that. */
export function steadyClock(factor = 1, originMs: number = Date.now()): Clock {
  if (!(factor > 0)) throw new RangeError(`Cannot run a clock: time scale is ${factor}, it must be above 0`);
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
        // Timers may fire a millisecond early, which is long where time runs fast. A time that may be put back is not
        // asked: that would stretch the wait.
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
