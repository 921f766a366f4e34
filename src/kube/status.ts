/** Reads failure responses of the API server. */
import { isObject, type JsonObject, quoted, tryRun } from '#lib';
import { ApiError } from './client.ts';

/**
 * Reasons for responses without a Status, such as a proxy's response. NotFound and Conflict are not listed, because only the API
 * server can report them for an object.
 */
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  405: 'MethodNotAllowed',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** Returns the error for a failure response. `retryAfter` is the value of the header: seconds, or a date. */
export function apiError(code: number, body: string, retryAfter?: string): ApiError {
  const { reason, message, details } = statusIn(body);
  const text =
    textIn(message)?.slice(0, LONGEST_MESSAGE) ?? `the API server returned HTTP status ${code}${excerptOf(body)}`;
  const seconds = Number(isObject(details) ? details.retryAfterSeconds : 0);
  const waitMs = waitOf(retryAfter) ?? seconds * 1_000;
  return new ApiError(code, textIn(reason) ?? REASONS[code] ?? 'Unknown', text, waitMs > 0 ? waitMs : undefined);
}

/** Returns the error for an ERROR event of a watch. The object of the event is a Status. */
export function watchError(object: unknown): ApiError {
  const code = isObject(object) && typeof object.code === 'number' ? object.code : 500;
  return apiError(code, JSON.stringify(object ?? {}));
}

const LONGEST_MESSAGE = 4_000;

const textIn = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Returns an excerpt of a response body that is not a Status, such as a proxy's page. */
const excerptOf = (body: string): string => (body.trim() === '' ? '' : `: ${quoted(body.trim())}`);

function statusIn(body: string): JsonObject {
  const parsed = tryRun((): unknown => JSON.parse(body));
  return isObject(parsed) ? parsed : {};
}

function waitOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds * 1_000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - Date.now());
}
