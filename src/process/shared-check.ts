/** Shares the runs of a check between concurrent and frequent callers, so that they cost as much as one caller. */
import { errorText } from '#observe/logger';

/** Resolves to pass and throws to fail. May wait for up to `longestMs`. The signal aborts when no caller waits any longer. */
export type SharedCheck = (signal: AbortSignal) => Promise<void> | void;

interface SharedCheckOptions {
  /** Milliseconds for which a success is kept. Default 0: the next call runs the check again. */
  readonly passMs?: number;
  /** Milliseconds for which a failure is kept. Default 0. */
  readonly failMs?: number;
  /** Maximum duration in milliseconds. A check that takes longer fails. Probes wait 30 s. */
  readonly longestMs?: number;
  /** Monotonic time in milliseconds. */
  readonly now?: () => number;
}

const LONGEST_MS = 25_000;

interface Running {
  readonly result: Promise<void>;
  readonly nobodyWaits: AbortController;
  waiting: number;
}

/** Returns a check that shares its runs. A call during a run, or while its result is kept, gets the result of that run. */
export function sharedCheck(check: SharedCheck, options: SharedCheckOptions = {}): SharedCheck {
  const { passMs = 0, failMs = 0, longestMs = LONGEST_MS, now = () => performance.now() } = options;
  let running: Running | undefined;
  let last: { readonly untilMs: number; readonly error?: unknown } | undefined;

  function start(): Running {
    const nobodyWaits = new AbortController();
    const result = inTime(check, nobodyWaits.signal, longestMs);
    const started: Running = { result, nobodyWaits, waiting: 0 };
    const ended = (lasts: number, failure: { readonly error?: unknown }): void => {
      if (running === started) running = undefined;
      if (lasts > 0 && !nobodyWaits.signal.aborted) last = { untilMs: now() + lasts, ...failure };
    };
    result.then(
      () => ended(passMs, {}),
      (error: unknown) => ended(failMs, { error }),
    );
    return started;
  }

  return async (signal) => {
    if (last !== undefined && now() < last.untilMs) {
      if ('error' in last) throw last.error;
      return;
    }
    running ??= start();
    const joined = running;
    joined.waiting += 1;
    const leave = (): void => {
      joined.waiting -= 1;
      if (joined.waiting > 0) return;
      if (running === joined) running = undefined;
      joined.nobodyWaits.abort();
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      await joined.result;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  };
}

async function inTime(check: SharedCheck, nobodyWaits: AbortSignal, longestMs: number): Promise<void> {
  const late = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.abort();
    reject(new Error(`the check did not end within ${longestMs / 1_000} s`));
  }, longestMs);
  timer.unref();
  try {
    await Promise.race([check(AbortSignal.any([nobodyWaits, late.signal])), promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs a check and returns its line in the response to a probe, in the format of Kubernetes' own probes. */
export async function runCheck(name: string, check: SharedCheck, signal: AbortSignal): Promise<CheckResult> {
  try {
    await check(signal);
    return { line: `[+]${name} ok`, passed: true };
  } catch (error) {
    return { line: `[-]${name} failed: ${errorText(error)}`, passed: false };
  }
}

interface CheckResult {
  readonly line: string;
  readonly passed: boolean;
}
