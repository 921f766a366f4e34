/** Daily and weekly patterns of load. Hours and days are in UTC. */

export const HOUR = 3_600;
export const DAY = 24 * HOUR;

/** Load over time, with a mean of 1 over the trace. */
export interface Curve {
  /** Hour of the day with the highest load. */
  readonly peakHour: number;
  /** Amplitude of the load around its mean, from 0 to 1. */
  readonly swing: number;
  /** Exponent that makes the daily peak steeper. Default: 1. */
  readonly steepness?: number;
  /** Load on Saturdays and Sundays, as a share of the load on weekdays. */
  readonly weekend: number;
}

/** Period of the trace. */
export interface Span {
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  readonly seconds: number;
}

const SUNDAY = 0;
const SATURDAY = 6;
/** Amplitude of a second wave, which makes the night longer than the daily peak. */
const SECOND_WAVE = 0.25;
/** Seconds between the points over which a curve is averaged. */
const STEP = 900;

/** Returns the hour of the day with its fraction. */
export const hourOf = ({ startMs }: Span, at: number): number => ((startMs / 1000 + at) % DAY) / HOUR;

export function isWeekend({ startMs }: Span, at: number): boolean {
  const day = new Date(startMs + at * 1000).getUTCDay();
  return day === SUNDAY || day === SATURDAY;
}

function shape(span: Span, { peakHour, swing, steepness = 1, weekend }: Curve, at: number): number {
  const turn = (2 * Math.PI * (hourOf(span, at) - peakHour)) / 24;
  const wave = (Math.cos(turn) + SECOND_WAVE * Math.cos(2 * turn)) / (1 + SECOND_WAVE);
  return Math.max(0.02, 1 + swing * wave) ** steepness * (isWeekend(span, at) ? weekend : 1);
}

/** Returns the load at a number of seconds since the start of the trace, with a mean of 1 over the trace. */
export function curveOf(span: Span, curve: Curve): (at: number) => number {
  let sum = 0;
  let count = 0;
  for (let at = 0; at < span.seconds; at += STEP, count += 1) sum += shape(span, curve, at);
  const mean = sum / count;
  return (at) => shape(span, curve, at) / mean;
}

/** Load of working hours from nine to six on weekdays, and a little at other times. */
export const WORKING_HOURS: Curve = { peakHour: 14, swing: 0.95, steepness: 2, weekend: 0.12 };

/** Yields the times of independent events, which occur more often if the curve is higher. */
export function* arrivals(
  span: Span,
  load: (at: number) => number,
  { meanGap, most, next }: { readonly meanGap: number; readonly most: number; readonly next: Draw },
): Generator<number> {
  for (let at = next.exponential(meanGap / most); at < span.seconds; at += next.exponential(meanGap / most))
    if (next.chance(Math.min(1, load(at) / most))) yield at;
}

interface Draw {
  exponential(mean: number): number;
  chance(share: number): boolean;
}

/** Returns the highest value of a load. */
export function highestOf(span: Span, load: (at: number) => number): number {
  let most = 0;
  for (let at = 0; at < span.seconds; at += STEP) most = Math.max(most, load(at));
  return most;
}
