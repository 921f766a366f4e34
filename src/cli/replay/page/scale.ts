/** Computes the ticks of axes and their labels. */

export interface Tick {
  readonly at: number;
  readonly label: string;
}

const STEPS = [1, 2, 2.5, 5, 10];

/**
 * Returns at most six round numbers, from 0 to the first number that is not less than `most`. Returns whole numbers
 * for counts.
 */
export function valueTicks(most: number, isCounted = false): readonly number[] {
  if (!(most > 0)) return [0, 1];
  const rough = Math.max(most / 5, isCounted ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(rough));
  const isRound = (step: number): boolean => step >= rough * (1 - 1e-9) && (!isCounted || Number.isInteger(step));
  const step = STEPS.map((each) => each * power).find(isRound) ?? 10 * power;
  const count = Math.ceil(most / step - 1e-9);
  // multiplication avoids accumulated errors, and rounding converts 0.30000000000000004 to 0.3
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [1, 5, 10, 15, 30]
  .map((minutes) => minutes * MINUTE)
  .concat(
    [1, 2, 3, 6, 12].map((hours) => hours * HOUR),
    [1, 2, 7, 14, 30, 60, 90, 180, 365].map((days) => days * DAY),
  );
const MOST_TIMES = 8;

const DAY_NAMES = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Returns ticks at full hours or days in UTC, in seconds since the start. */
export function timeTicks(startMs: number, seconds: number): readonly Tick[] {
  const step = TIME_STEPS.find((each) => seconds / each <= MOST_TIMES) ?? Math.ceil(seconds / MOST_TIMES / DAY) * DAY;
  const start = startMs / 1000;
  // weeks start on Monday, and 1 January 1970 was a Thursday
  const origin = step % (7 * DAY) === 0 ? 4 * DAY : 0;
  const ticks: Tick[] = [];
  for (let at = Math.ceil((start - origin) / step) * step + origin; at <= start + seconds; at += step)
    ticks.push({ at: at - start, label: timeLabel(new Date(at * 1000), step) });
  return ticks;
}

function timeLabel(date: Date, step: number): string {
  const day = date.getUTCDate();
  const month = MONTHS[date.getUTCMonth()];
  const isMidnight = date.getUTCHours() === 0 && date.getUTCMinutes() === 0;
  if (step >= 7 * DAY) return `${day} ${month}`;
  if (step >= DAY || isMidnight) return `${DAY_NAMES[date.getUTCDay()]} ${day} ${month}`;
  return date.toISOString().slice(11, 16);
}

/** Ticks of the logarithmic axis. Only ticks between the shortest and the longest wait are used. */
const WAITS: readonly Tick[] = [
  [1, '1 s'],
  [3, '3 s'],
  [10, '10 s'],
  [30, '30 s'],
  [60, '1 min'],
  [120, '2 min'],
  [300, '5 min'],
  [600, '10 min'],
  [1800, '30 min'],
  [3600, '1 h'],
  [10_800, '3 h'],
  [43_200, '12 h'],
  [86_400, '1 d'],
  [604_800, '7 d'],
].map(([at, label]) => ({ at: Number(at), label: String(label) }));

export function waitTicks(longest: number): readonly Tick[] {
  const end = WAITS.findIndex(({ at }) => at >= longest);
  return WAITS.slice(0, Math.max(3, (end < 0 ? WAITS.length : end) + 1));
}
