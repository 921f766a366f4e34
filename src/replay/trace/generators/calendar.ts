/** Daily and weekly patterns of load. Hours and days are in UTC. */

export const HOUR = 3_600;
export const DAY = 24 * HOUR;

/** Load over time, with a mean of 1 over the trace. */
export type Curve = Wave | Levels;

export interface Wave {
  /** Hour of the day with the highest load. */
  readonly peakHour: number;
  /** Amplitude of the load around its mean, from 0 to 1. */
  readonly swing: number;
  /** Exponent that makes the daily peak steeper. Default: 1. */
  readonly steepness?: number;
  /** Load on Saturdays and Sundays, as a share of the load on weekdays. */
  readonly weekend: number;
}

/** Load that changes along straight lines between hours of the day. */
export interface Levels {
  /** At least one point, in order of the hours. The last point of a day is connected with the first point of the next day. */
  readonly levels: readonly (readonly [hour: number, load: number])[];
  readonly weekend: number;
}

/** Period of the trace. */
export interface TimeSpan {
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
/** Levels may change within minutes. */
const LEVEL_STEP = 60;

/** Returns the hour of the day with its fraction. */
export const hourOf = ({ startMs }: TimeSpan, at: number): number => ((startMs / 1000 + at) % DAY) / HOUR;

export function isWeekend({ startMs }: TimeSpan, at: number): boolean {
  const day = new Date(startMs + at * 1000).getUTCDay();
  return day === SUNDAY || day === SATURDAY;
}

function shape(span: TimeSpan, curve: Curve, at: number): number {
  if ('levels' in curve) return levelAt(curve.levels, hourOf(span, at)) * (isWeekend(span, at) ? curve.weekend : 1);
  const { peakHour, swing, steepness = 1, weekend } = curve;
  const turn = (2 * Math.PI * (hourOf(span, at) - peakHour)) / 24;
  const wave = (Math.cos(turn) + SECOND_WAVE * Math.cos(2 * turn)) / (1 + SECOND_WAVE);
  return Math.max(0.02, 1 + swing * wave) ** steepness * (isWeekend(span, at) ? weekend : 1);
}

function levelAt(levels: Levels['levels'], hour: number): number {
  const [first, last] = [levels[0] ?? [0, 0], levels.at(-1) ?? [0, 0]];
  const later = levels.findIndex(([begin]) => begin > hour);
  const [before, beforeLoad] = later === 0 ? [last[0] - 24, last[1]] : (levels[later - 1] ?? last);
  const [after, afterLoad] = later < 0 ? [first[0] + 24, first[1]] : (levels[later] ?? first);
  return beforeLoad + ((afterLoad - beforeLoad) * (hour - before)) / (after - before);
}

/** Returns the load at a number of seconds since the start of the trace, with a mean of 1 over the trace. */
export function curveOf(span: TimeSpan, curve: Curve): (at: number) => number {
  const step = 'levels' in curve ? LEVEL_STEP : STEP;
  let sum = 0;
  let count = 0;
  for (let at = 0; at < span.seconds; at += step, count += 1) sum += shape(span, curve, at);
  const mean = sum / count;
  return (at) => shape(span, curve, at) / mean;
}

/** Load of working hours from nine to six on weekdays, and a little at other times. */
export const WORKING_HOURS: Wave = { peakHour: 14, swing: 0.95, steepness: 2, weekend: 0.12 };

/** Yields the times of independent events, which occur more often if the curve is higher. */
export function* arrivals(
  span: TimeSpan,
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
export function highestOf(span: TimeSpan, load: (at: number) => number): number {
  let most = 0;
  for (let at = 0; at < span.seconds; at += STEP) most = Math.max(most, load(at));
  return most;
}
