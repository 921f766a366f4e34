/** A token bucket: so many per second, with a burst saved up while idle. */
import { type Clock, monotonicMs } from './clock.ts';

export interface Limiter {
  /** Takes a token if there is one. */
  tryTake(): boolean;
  /** Takes the next token, now or in the future; answers how long to wait for it in milliseconds. */
  reserve(): number;
  /** Waits for the next token; returns early when the signal aborts. First come, first served. */
  take(signal?: AbortSignal): Promise<void>;
}

/** `qps` of zero or less means no limit. */
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
    // below zero is what is owed: each further taker waits for one token more
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
