/**
 * Prevents lasting conditions from filling the log. Omits a line that repeats an earlier line about the same object, except for
 * an occasional line with the number of repetitions. Changes are written immediately.
 */
import type { LogFields } from './logger.ts';

const MINUTE = 60_000;
/** Minimum time between two equal lines. The time doubles after each written line, up to the maximum. */
const FIRST_MS = 5 * MINUTE;
const LONGEST_MS = 60 * MINUTE;
/**
 * Time after which a line is no longer a repetition. Back-off ends at 17 minutes, so a condition that did not recur within this
 * time is over. If it recurs later, the line is written again.
 */
const FORGET_MS = 30 * MINUTE;
/** Maximum number of lines in the cache. The oldest lines are evicted first. */
const MOST = 4_096;

interface Repeated {
  writtenMs: number;
  seenMs: number;
  pauseMs: number;
  /** Number of omitted lines since the last written line. */
  leftOut: number;
}

/** Returns the fields to add to a line, or undefined if the line must be omitted. */
export type RepeatedLines = (line: string | undefined) => LogFields | undefined;

/** @param now returns the time in milliseconds */
export function repeatedLines(now: () => number): RepeatedLines {
  const known = new Map<string, Repeated>();
  return (line) => {
    if (line === undefined) return {};
    const nowMs = now();
    const last = known.get(line);
    known.delete(line);
    if (last === undefined || nowMs - last.seenMs > FORGET_MS || nowMs < last.seenMs) {
      const [oldest] = known.keys();
      if (known.size >= MOST && oldest !== undefined) known.delete(oldest);
      known.set(line, { writtenMs: nowMs, seenMs: nowMs, pauseMs: FIRST_MS, leftOut: 0 });
      return {};
    }
    known.set(line, last);
    last.seenMs = nowMs;
    if (nowMs - last.writtenMs < last.pauseMs) {
      last.leftOut += 1;
      return undefined;
    }
    const repeated = last.leftOut + 1;
    Object.assign(last, { writtenMs: nowMs, pauseMs: Math.min(LONGEST_MS, 2 * last.pauseMs), leftOut: 0 });
    return { repeated };
  };
}

/** Parts that vary between failures with the same cause: digits, and ids of requests and objects. */
const VARYING = /[0-9a-f]{8}-[0-9a-f-]{27}|\d+/g;

/** Lines about events. Each of them is written, even if all fields are equal. */
export const REPEATED_EVENTS: ReadonlySet<string> = new Set([
  'computed new nodeclaim(s) to fit pod(s)',
  'an engine worker ended, starting a new one',
]);

/**
 * Returns the identity of a line: its message and its objects. Returns undefined for a line about an event, because such lines
 * are always written.
 */
export function identityOf(level: string, message: string, fields: LogFields): string | undefined {
  const { controller, namespace, name, error } = fields;
  if (REPEATED_EVENTS.has(message) || (level !== 'error' && controller === undefined)) return undefined;
  if (level !== 'error') return JSON.stringify({ ...fields, level, message, reconcileID: undefined });
  const objects = Object.entries(fields).filter(([, value]) => isReference(value));
  return JSON.stringify([message, controller, namespace, name, objects, String(error ?? '').replace(VARYING, '#')]);
}

const isReference = (value: unknown): boolean => typeof value === 'object' && value !== null && 'name' in value;
