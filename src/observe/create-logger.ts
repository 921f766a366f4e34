/** The operator's logger: one JSON object per line in the shape that Karpenter's users parse. */
import { writeSync } from 'node:fs';
import pino from 'pino';
import { defined, own } from '#lib';
import { escapeControls } from './control-characters.ts';
import { awsFields, errorText, requestField } from './error-text.ts';
import type { LogFields, Logger } from './logger.ts';
import { remedyFor } from './remedies.ts';

export interface LoggerOptions {
  readonly level: 'debug' | 'info' | 'error';
  /** `stdout`, `stderr` or files. */
  readonly outputPaths: readonly string[];
  /** Outputs for errors about writing the log itself. */
  readonly errorOutputPaths: readonly string[];
  /** Source revision. Every line contains its first seven characters. Absent or empty if the revision is unknown. */
  readonly commit?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Replaces the output paths; for tests. */
  readonly write?: (line: string) => void;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

/** Number of identical lines per second that are all written. After this, every 100th line is written. */
const FIRST_LINES = 100;
const EVERY_NTH_LINE = 100;

const DESCRIPTORS: Readonly<Record<string, number>> = { stdout: 1, stderr: 2 };

/** Creates the logger. @throws Error with the output path that cannot be opened */
export function createLogger(options: LoggerOptions): Logger {
  const now = options.now ?? Date.now;
  const backend = pino(
    {
      base: null,
      level: options.level,
      timestamp: () => `,"time":"${new Date(now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label.toUpperCase() }) },
      serializers: {},
    },
    destination(options),
  );
  const isKept = sampler(now);
  // the level debug must show each try
  const repeats: RepeatedLines = options.level === 'debug' ? () => ({}) : repeatedLines(now);
  const revision = options.commit ? { commit: shorten(options.commit) } : {};

  const loggerWith = (bound: LogFields): Logger => {
    const write = (level: Level, message: string, fields: LogFields = {}): void => {
      if (!backend.isLevelEnabled(level) || !isKept(`${level} ${message}`)) return;
      const caller = options.level === 'debug' ? { caller: callerOf(write) } : {};
      const said = { ...bound, ...plain(fields) };
      const repeated = repeats(identityOf(level, message, said));
      if (repeated === undefined) return;
      const remedy = level === 'error' ? defined({ remedy: remedyFor(message, said) }) : {};
      // the message is passed as a field, so that the fields have the documented order
      backend[level]({ logger: 'controller', ...caller, message, ...revision, ...remedy, ...said, ...repeated });
    };
    return {
      debug: (message, fields) => write('debug', message, fields),
      info: (message, fields) => write('info', message, fields),
      warn: (message, fields) => write('warn', message, fields),
      error: (message, fields) => write('error', message, fields),
      with: (fields) => loggerWith({ ...bound, ...plain(fields) }),
    };
  };
  return loggerWith({});
}

/**
 * Limits frequent lines. The returned function returns true if a line must be written: per second, the first 100 identical lines
 * and then every 100th.
 */
function sampler(now: () => number): (line: string) => boolean {
  let second = Number.NaN;
  let counts = new Map<string, number>();
  return (line) => {
    const current = Math.floor(now() / 1_000);
    if (current !== second) {
      second = current;
      counts = new Map();
    }
    const count = (counts.get(line) ?? 0) + 1;
    counts.set(line, count);
    return count <= FIRST_LINES || (count - FIRST_LINES) % EVERY_NTH_LINE === 0;
  };
}

/** Converts errors in fields to text. AWS failures add their codes, and API server failures add their request. */
function plain(fields: LogFields): LogFields {
  const entries = Object.entries(fields);
  if (!entries.some(([, value]) => value instanceof Error)) return fields;
  return Object.assign(
    {},
    ...entries.map(([name, value]) =>
      value instanceof Error
        ? { [name]: errorText(value), ...awsFields(value), ...requestField(value) }
        : { [name]: value },
    ),
  ) as LogFields;
}

function shorten(commit: string): string {
  const [revision = '', ...rest] = commit.split('-');
  return [revision.slice(0, 7), ...rest].join('-');
}

function destination(options: LoggerOptions): pino.DestinationStream {
  const streams = options.write ? [{ write: options.write }] : openAll(options);
  return {
    write(line) {
      // pino escapes only C0
      const text = escapeControls(line);
      for (const stream of streams) stream.write(text);
    },
  };
}

function openAll({ outputPaths, errorOutputPaths }: LoggerOptions): readonly pino.DestinationStream[] {
  const report = (error: Error): void => {
    for (const path of errorOutputPaths) reportTo(path === 'stdout' ? 1 : 2, error);
  };
  return outputPaths.map((path) => {
    const stream = open(path);
    stream.on('error', report);
    return stream;
  });
}

/** Writes to the file descriptor directly, because the log captures the streams of the process. */
function reportTo(descriptor: number, error: Error): void {
  const time = new Date().toISOString();
  const line = { level: 'ERROR', time, logger: 'controller', message: 'cannot write log', error: error.message };
  try {
    writeSync(descriptor, `${JSON.stringify(line)}\n`);
  } catch {
    // no other output is available for this failure
  }
}

function open(path: string): ReturnType<typeof pino.destination> {
  try {
    // synchronous, so that the last line before an exit is not lost
    return pino.destination({ dest: own(DESCRIPTORS, path) ?? path, sync: true, mkdir: true });
  } catch (error) {
    throw new Error(`Cannot log to "${path}", one of LOG_OUTPUT_PATHS`, { cause: error });
  }
}

/** `dir/file:line` of the code that called the logger. */
function callerOf(write: (...args: never[]) => void): string {
  const trace: { stack?: string } = {};
  Error.captureStackTrace(trace, write);
  // the first frame is the logger's own method, the second its caller
  const frame = trace.stack?.split('\n')[2] ?? '';
  return /(?<![^/\s(])([^/\s(]+\/[^/\s(:]+:\d+):\d+\)?$/.exec(frame)?.[1] ?? 'unknown';
}

/**
 * Prevents lasting conditions from filling the log. Omits a line that repeats an earlier line about the same object, except for
 * an occasional line with the number of repetitions. Changes are written immediately.
 */
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
type RepeatedLines = (line: string | undefined) => LogFields | undefined;

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
function identityOf(level: string, message: string, fields: LogFields): string | undefined {
  const { controller, namespace, name, error } = fields;
  if (REPEATED_EVENTS.has(message) || (level !== 'error' && controller === undefined)) return undefined;
  if (level !== 'error') return JSON.stringify({ ...fields, level, message, reconcileID: undefined });
  const objects = Object.entries(fields).filter(([, value]) => isReference(value));
  return JSON.stringify([message, controller, namespace, name, objects, String(error ?? '').replace(VARYING, '#')]);
}

const isReference = (value: unknown): boolean => typeof value === 'object' && value !== null && 'name' in value;
