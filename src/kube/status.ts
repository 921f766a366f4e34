/** Reads the API server's failures. */
import { quoted } from '../lib/quoted.ts';
import { ApiError } from './client.ts';

/**
 * Reasons for answers that carry no Status, such as a proxy's. Neither NotFound nor Conflict: what those say about an
 * object is believed of the API server alone.
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

/** The error for a failed answer. `retryAfter` is its header: seconds, or a date. */
export function apiError(code: number, body: string, retryAfter?: string): ApiError {
  const { reason, message, details } = statusIn(body);
  const text = textIn(message)?.slice(0, LONGEST_MESSAGE) ?? `the API server answered ${code}${excerptOf(body)}`;
  const seconds = Number(isMap(details) ? details.retryAfterSeconds : 0);
  const waitMs = waitOf(retryAfter) ?? seconds * 1_000;
  return new ApiError(code, textIn(reason) ?? REASONS[code] ?? 'Unknown', text, waitMs > 0 ? waitMs : undefined);
}

/** The error for an ERROR event of a watch, whose object is a Status. */
export function watchError(object: unknown): ApiError {
  const code = isMap(object) && typeof object.code === 'number' ? object.code : 500;
  return apiError(code, JSON.stringify(object ?? {}));
}

const LONGEST_MESSAGE = 4_000;

type Json = Readonly<Record<string, unknown>>;

const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const textIn = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Of another server's page, such as a proxy's. */
const excerptOf = (body: string): string => (body.trim() === '' ? '' : `: ${quoted(body.trim())}`);

function statusIn(body: string): Json {
  try {
    const parsed: unknown = JSON.parse(body);
    return isMap(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

function waitOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds * 1_000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - Date.now());
}
