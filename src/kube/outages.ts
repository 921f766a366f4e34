/**
 * Reports when the API server stops serving requests and when it serves them again, once each however many requests see
 * it, and when its answers take long. What the operator does meanwhile explains itself by these lines.
 */
import { formatDuration } from '../api/duration.ts';
import type { Logger } from '../observe/logger.ts';
import { ApiError } from './client.ts';
import { ConnectionError } from './transport.ts';

export interface Outages {
  /** A request was answered, `tookMs` after it was sent. */
  served(request: { readonly method: string; readonly path: string }, tookMs: number): void;
  /** A request failed. */
  failed(error: unknown): void;
}

/** A connection may break, and a server may restart; this long without any success is worth a line. */
const OUTAGE_MS = 1_000;
const SLOW_MS = 5_000;
/** At most one line about slow answers in this time. */
const SLOW_PERIOD_MS = 10_000;

/** @param nowMs a clock that real time drives */
export function watchForOutages(log: Logger, nowMs: () => number = () => performance.now()): Outages {
  let streak: Streak | undefined;
  let quietUntilMs = Number.NEGATIVE_INFINITY;

  const recovered = (now: number): void => {
    // A server that starts takes its time with the first answers, so that an outage may show only at its end.
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
      log.info('the API server answers slowly', { method, path, duration: formatDuration(Math.round(tookMs)) });
    },
    failed(error) {
      const now = nowMs();
      // A refusal is an answer.
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

/** Failures without a success between them. */
interface Streak {
  readonly sinceMs: number;
  /** The first. */
  readonly error: unknown;
  failures: number;
  isReported: boolean;
}

/** Whether other requests would have failed like this one: no connection, no credentials, no storage. */
const isOutage = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ApiError && (error.status === 401 || error.status >= 500));
