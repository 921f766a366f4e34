/** Token bucket with a rate per second and a burst that accumulates while the bucket is idle. */
import { type Clock, monotonicMs } from './clock.ts';

export interface Limiter {
  /** Takes a token and returns true if a token is available. */
  tryTake(): boolean;
  /** Takes the next token, now or in the future. Returns the time to wait for this token, in milliseconds. */
  reserve(): number;
  /** Waits for the next token; returns early if the signal aborts. Callers are served in the order of their calls. */
  take(signal?: AbortSignal): Promise<void>;
}

/** Creates a limiter. If `qps` is zero or less, there is no limit. */
export function limiter(clock: Clock, qps: number, burst: number): Limiter {
  if (qps <= 0) return { tryTake: () => true, reserve: () => 0, take: async () => {} };
  const most = Math.max(1, burst);
  let tokens = most;
  let atMs = monotonicMs(clock);

  const refill = (): void => {
    const nowMs = monotonicMs(clock);
    tokens = Math.min(most, tokens + (Math.max(0, nowMs - atMs) * qps) / 1_000);
    atMs = nowMs;
  };
  const reserve = (): number => {
    refill();
    // a negative number of tokens is owed: each further caller waits for one more token
    tokens -= 1;
    return tokens >= 0 ? 0 : (-tokens * 1_000) / qps;
  };
  return {
    tryTake: () => {
      refill();
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    reserve,
    take: async (signal) => {
      const waitMs = reserve();
      if (waitMs > 0) await clock.sleep(waitMs, signal);
    },
  };
}
