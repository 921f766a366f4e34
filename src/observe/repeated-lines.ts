/**
 * Keeps what lasts from filling the log: a line that says the same about the same object as one before is left out, but for
 * one now and then that says how often. What changes is written at once.
 */
import type { LogFields } from './logger.ts';

const MINUTE = 60_000;
/** From one line to the next of the same: twice as long each time, up to the longest. */
const FIRST_MS = 5 * MINUTE;
const LONGEST_MS = 60 * MINUTE;
/** Back-off ends at 17 minutes: what has not come back after this long is over, and is written when it comes again. */
const FORGET_MS = 30 * MINUTE;
/** Lines that are remembered; the oldest go first. */
const MOST = 4_096;

interface Repeated {
  writtenMs: number;
  seenMs: number;
  pauseMs: number;
  /** Left out since the last that was written. */
  leftOut: number;
}

/** Answers the fields to add to a line, or undefined when it is left out. */
export type RepeatedLines = (line: string | undefined) => LogFields | undefined;

/** @param now milliseconds */
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

/** Differ from one failure to the next of the same cause: digits, and ids of requests and objects. */
const VARYING = /[0-9a-f]{8}-[0-9a-f-]{27}|\d+/g;

/** Tell of something that happened, even where all of it is the same. */
export const REPEATED_EVENTS: ReadonlySet<string> = new Set([
  'computed new nodeclaim(s) to fit pod(s)',
  'an engine worker ended, starting another',
]);

/** What a line says, and about what. Undefined for one that tells of an event: it is written however often it happens. */
export function identityOf(level: string, message: string, fields: LogFields): string | undefined {
  const { controller, namespace, name, error } = fields;
  if (REPEATED_EVENTS.has(message) || (level !== 'error' && controller === undefined)) return undefined;
  if (level !== 'error') return JSON.stringify({ ...fields, level, message, reconcileID: undefined });
  const objects = Object.entries(fields).filter(([, value]) => isReference(value));
  return JSON.stringify([message, controller, namespace, name, objects, String(error ?? '').replace(VARYING, '#')]);
}

const isReference = (value: unknown): boolean => typeof value === 'object' && value !== null && 'name' in value;
