/**
 * Tells when the API server stops serving requests and when it serves them again, once each however many requests see
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
  let failingSinceMs: number | undefined;
  let isReported = false;
  let quietUntilMs = Number.NEGATIVE_INFINITY;

  const recovered = (now: number): void => {
    const lastedMs = Math.round(now - (failingSinceMs ?? now));
    if (isReported) log.info('the API server serves requests again', { after: formatDuration(lastedMs) });
    failingSinceMs = undefined;
    isReported = false;
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
      failingSinceMs ??= now;
      if (isReported || now - failingSinceMs < OUTAGE_MS) return;
      isReported = true;
      log.error('the API server serves no requests, retrying', { error });
    },
  };
}

/** Whether other requests would have failed like this one: no connection, no credentials, no storage. */
const isOutage = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ApiError && (error.status === 401 || error.status >= 500));
