/**
 * Reports outages of the API server: once when it stops serving requests and once when it serves requests again, regardless of
 * the number of failed requests. Also reports slow responses. These log lines explain the behavior of the operator during an
 * outage.
 */
import { formatDuration } from '#api/values';
import type { Logger } from '#observe/logger';
import { ApiError } from './client.ts';
import { ConnectionError } from './transport.ts';

export interface Outages {
  /** Records that this server responded to a request `tookMs` after it was sent. */
  served(request: { readonly method: string; readonly path: string }, tookMs: number): void;
  /** Records that a request failed. */
  failed(error: unknown): void;
}

/**
 * Minimum time without any success that is reported as an outage. Shorter gaps are normal if a connection breaks or a server
 * restarts.
 */
const OUTAGE_MS = 1_000;
const SLOW_MS = 5_000;
/** Minimum time between two log lines about slow responses. */
const SLOW_PERIOD_MS = 10_000;

/** Creates a monitor for outages. @param nowMs clock that follows real time */
export function watchForOutages(log: Logger, nowMs: () => number = () => performance.now()): Outages {
  let streak: Streak | undefined;
  let quietUntilMs = Number.NEGATIVE_INFINITY;

  const recovered = (now: number): void => {
    // A server that starts needs time for its first responses, so an outage may become visible only at its end.
    if (streak?.isReported || (streak && streak.failures > 1 && now - streak.sinceMs >= OUTAGE_MS))
      log.info('the API server serves requests again', {
        after: formatDuration(Math.round(now - streak.sinceMs)),
        error: streak.error,
      });
    streak = undefined;
  };
  return {
    served({ method, path }, tookMs) {
      const now = nowMs();
      recovered(now);
      if (tookMs < SLOW_MS || now < quietUntilMs) return;
      quietUntilMs = now + SLOW_PERIOD_MS;
      log.info('the API server responds slowly', { method, path, duration: formatDuration(Math.round(tookMs)) });
    },
    failed(error) {
      const now = nowMs();
      // A refused request also shows that the server responds.
      if (error instanceof ApiError && !isOutage(error)) recovered(now);
      if (!isOutage(error)) return;
      streak ??= { sinceMs: now, failures: 0, error, isReported: false };
      streak.failures += 1;
      if (streak.isReported || now - streak.sinceMs < OUTAGE_MS) return;
      streak.isReported = true;
      log.error('the API server serves no requests, retrying', { error });
    },
  };
}

/** Consecutive failures. */
interface Streak {
  readonly sinceMs: number;
  /** First error of this streak. */
  readonly error: unknown;
  failures: number;
  isReported: boolean;
}

/** Returns true if any other request would also have failed: no connection, no credentials, or no storage. */
const isOutage = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ApiError && (error.status === 401 || error.status >= 500));
