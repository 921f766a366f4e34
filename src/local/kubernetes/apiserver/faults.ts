/** Faults that tests inject to observe the reaction of clients. */
import { StatusError } from './status.ts';

export interface RequestView {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export interface FailureOptions {
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

export interface Faults {
  /** Closes the connection of every open watch. */
  dropWatches(): void;
  /** Discards the history. Watches and list pages from older revisions then receive 410 Gone. */
  expireHistory(): void;
  /** Makes matching requests fail. Returns a function that ends the fault. */
  failRequests(options: FailureOptions): () => void;
  /** Ends all faults of `failRequests`. */
  clear(): void;
  /** Real milliseconds by which each request is delayed. */
  latencyMs: number;
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

export interface FaultSwitches extends Faults {
  /** Returns the fault that applies to this request, if any, and counts it. */
  failureOf(request: RequestView): StatusError | undefined;
}

export function createFaults(actions: Pick<Faults, 'dropWatches' | 'expireHistory'>): FaultSwitches {
  const failures = new Set<{ readonly options: FailureOptions; left: number }>();
  const matches = (match: FailureOptions['match'], request: RequestView): boolean => {
    if (match === undefined) return true;
    if (typeof match === 'function') return match(request);
    return match.test(`${request.method} ${request.path}${request.query.size > 0 ? `?${request.query}` : ''}`);
  };
  return {
    ...actions,
    latencyMs: 0,
    failRequests: (options) => {
      const failure = { options, left: options.times ?? Number.POSITIVE_INFINITY };
      failures.add(failure);
      return () => failures.delete(failure);
    },
    clear: () => failures.clear(),
    failureOf: (request) => {
      for (const failure of failures) {
        if (!matches(failure.options.match, request)) continue;
        if (--failure.left <= 0) failures.delete(failure);
        const { status = 500, message, retryAfterSeconds } = failure.options;
        const reason = failure.options.reason ?? REASONS[status] ?? 'InternalError';
        const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
        return new StatusError(status, reason, message ?? `Injected failure: ${reason}`, details);
      }
      return undefined;
    },
  };
}
