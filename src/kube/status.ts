/** Reads the API server's failures. */
import { ApiError } from './client.ts';

/** The body of a failure, as far as it is read here. */
interface Status {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number };
}

/** Reasons for answers that carry no Status, such as a proxy's. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** The error for a failed answer. `retryAfter` is its header: seconds, or a date. */
export function apiError(code: number, body: string, retryAfter?: string): ApiError {
  const status = parseStatus(body);
  const message = status?.message || body.trim().slice(0, 300) || `the API server answered ${code}`;
  const waitMs = waitOf(retryAfter) ?? (status?.details?.retryAfterSeconds ?? 0) * 1_000;
  return new ApiError(code, status?.reason || REASONS[code] || 'Unknown', message, waitMs > 0 ? waitMs : undefined);
}

/** The error for an ERROR event of a watch, whose object is a Status. */
export function watchError(object: unknown): ApiError {
  const status = (object ?? {}) as Status;
  const code = status.code ?? 500;
  return apiError(code, JSON.stringify(status));
}

function parseStatus(body: string): Status | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function waitOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds * 1_000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - Date.now());
}
