/** Faults of the local API server, to observe the reaction of clients. */
import { type LocalApiServer, type RequestView, StatusError } from '#local/testing';

interface FailureOptions {
  /** A regular expression is matched against `METHOD /path?query`. */
  readonly match?: RegExp | ((request: RequestView) => boolean);
  /** HTTP status; default 500. */
  readonly status?: number;
  /** Reason of the Status. Default: the reason of the HTTP status. */
  readonly reason?: string;
  readonly message?: string;
  /** Number of requests that fail. Default: all until the fault is cleared. */
  readonly times?: number;
  readonly retryAfterSeconds?: number;
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

interface Failure {
  readonly options: FailureOptions;
  left: number;
}

const failuresOf = new WeakMap<LocalApiServer, Set<Failure>>();

/** Makes matching requests to a server fail. Returns a function that ends the fault. */
export function failRequests(server: LocalApiServer, options: FailureOptions): () => void {
  const failures = failuresOf.get(server) ?? new Set();
  failuresOf.set(server, failures);
  server.intercept = async (request) => failIfMatched(failures, request);
  const failure = { options, left: options.times ?? Number.POSITIVE_INFINITY };
  failures.add(failure);
  return () => failures.delete(failure);
}

/** @throws StatusError of the first fault that matches the request. Counts its use. */
function failIfMatched(failures: Set<Failure>, request: RequestView): void {
  for (const failure of failures) {
    const { match, status = 500, message, retryAfterSeconds } = failure.options;
    if (!matches(match, request)) continue;
    if (--failure.left <= 0) failures.delete(failure);
    const reason = failure.options.reason ?? REASONS[status] ?? 'InternalError';
    const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
    throw new StatusError(status, reason, message ?? `Injected failure: ${reason}`, details);
  }
}

function matches(match: FailureOptions['match'], request: RequestView): boolean {
  if (match === undefined) return true;
  if (typeof match === 'function') return match(request);
  return match.test(`${request.method} ${request.path}${request.query.size > 0 ? `?${request.query}` : ''}`);
}
