/** Durations in Go's syntax: `90s`, `1h30m`, `1.5h`, `300ms`. */
import { quoted, tryRun } from '#lib';

/** Value for no duration, in fields that allow it. */
export const NEVER = 'Never';

const NANOS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const MAX_NANOS = 2n ** 63n - 1n;
/** Maximum length, far above the length of realistic durations. */
const MAX_LENGTH = 256;
const FORM = /^([+-]?)(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const TERM = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/gy;

/**
 * Returns the nanoseconds of a duration.
 * @throws {RangeError} if the text is not a duration or does not fit 64 bits.
 */
export function durationNanos(text: string): bigint {
  if (text.length > MAX_LENGTH)
    throw new RangeError(`Cannot read duration ${quoted(text)}: expected at most ${MAX_LENGTH} characters`);
  const sign = FORM.exec(text)?.[1];
  if (sign === undefined) {
    throw new RangeError(`Cannot read duration ${quoted(text)}: expected numbers with units, such as 90s or 1h30m`);
  }
  let total = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of text.slice(sign.length).matchAll(TERM)) {
    const nanos = NANOS[unit] ?? 0n;
    total += BigInt(whole || 0) * nanos + (BigInt(fraction || 0) * nanos) / 10n ** BigInt(fraction.length);
  }
  const limit = sign === '-' ? MAX_NANOS + 1n : MAX_NANOS;
  if (total > limit) throw new RangeError(`Cannot read duration ${quoted(text)}: longer than 292 years`);
  return sign === '-' ? -total : total;
}

/**
 * Returns the milliseconds of a duration, with a fraction if necessary.
 * @throws {RangeError} if the text is not a duration.
 */
export function parseDuration(text: string): number {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const nanos = durationNanos(text);
  // converts whole milliseconds separately, because the nanoseconds of a few months exceed the precision of a number
  const ms = Number(nanos / 1_000_000n) + Number(nanos % 1_000_000n) / 1e6;
  if (parsed.size >= MOST_PARSED) parsed.clear();
  parsed.set(text, ms);
  return ms;
}

/** Cache, because durations are parsed for each node in each pass and there are few different durations. */
const parsed = new Map<string, number>();
const MOST_PARSED = 1_000;

/** Returns the milliseconds of a duration, or `Infinity` for `Never` and for an unset duration. */
export const durationOrNever = (text: string | undefined): number =>
  text === undefined || text === NEVER ? Number.POSITIVE_INFINITY : parseDuration(text);

/**
 * Like `durationOrNever`, but returns undefined for an invalid duration, so that one invalid object does not fail the work on
 * all objects.
 */
export const readDurationOrNever = (text: string | undefined): number | undefined =>
  tryRun(() => durationOrNever(text));

/** Formats milliseconds as Go does: `1h30m0s`, `5m0s`, `1.5s`, `300ms`, `0s`. */
export function formatDuration(ms: number): string {
  const whole = Math.trunc(Math.abs(ms));
  const nanos = BigInt(whole) * 1_000_000n + BigInt(Math.round((Math.abs(ms) - whole) * 1e6));
  if (nanos === 0n) return '0s';
  const sign = ms < 0 ? '-' : '';
  if (nanos < 1_000n) return `${sign}${nanos}ns`;
  if (nanos < 1_000_000n) return `${sign}${decimal(nanos, 1_000n)}µs`;
  if (nanos < 1_000_000_000n) return `${sign}${decimal(nanos, 1_000_000n)}ms`;
  const minute = 60_000_000_000n;
  const minutes = nanos / minute;
  const seconds = `${decimal(nanos % minute, 1_000_000_000n)}s`;
  if (minutes === 0n) return sign + seconds;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, unit: bigint): string {
  const digits = String(unit).length - 1;
  const fraction = String(value % unit)
    .padStart(digits, '0')
    .replace(/(?<!0)0+$/, '');
  return fraction === '' ? `${value / unit}` : `${value / unit}.${fraction}`;
}
