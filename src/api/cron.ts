/**
 * Schedules as the standard parser of Kubernetes' CronJobs reads them (https://pkg.go.dev/github.com/robfig/cron/v3). What
 * other cron dialects know besides (7 for Sunday, L, W, #) it refuses, and so do we: a budget that nobody else can read
 * must not be in force here at times of our own making.
 */
import { Cron } from 'croner';
import { quoted } from '../lib/quoted.ts';

interface Field {
  readonly what: string;
  readonly first: number;
  readonly last: number;
  /** Of the values from the first on, each with three letters. */
  readonly names?: readonly string[];
}

const FIELDS: readonly Field[] = [
  { what: 'a minute', first: 0, last: 59 },
  { what: 'an hour', first: 0, last: 23 },
  { what: 'a day of the month', first: 1, last: 31 },
  { what: 'a month', first: 1, last: 12, names: 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ') },
  { what: 'a day of the week', first: 0, last: 6, names: 'sun mon tue wed thu fri sat'.split(' ') },
];

const SHORTCUTS: ReadonlyMap<string, string> = new Map([
  ['@annually', '0 0 1 1 *'],
  ['@yearly', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

/** All values of all fields, listed one by one, need half of it. */
const MAX_LENGTH = 1_000;

/** `*`, `?`, a value or a range; `/` and a step. */
const PART = /^(?:[*?]|(?<from>\w+)(?:-(?<to>\w+))?)(?:\/(?<step>\d+))?$/;

/**
 * The hits of a schedule in UTC: five fields, or a shortcut. `5/10` stands for `5-59/10`. When both days are restricted,
 * either has to match.
 * @throws Error that names the schedule, and the part of it that cannot be read
 */
export function parseCron(schedule: string): Cron {
  if (schedule.length > MAX_LENGTH) throw invalid(schedule, `at most ${MAX_LENGTH} characters`);
  const parts = (SHORTCUTS.get(schedule) ?? schedule).trim().split(/\s+/);
  if (parts.length !== FIELDS.length) throw invalid(schedule, 'five fields or a shortcut such as @daily');
  const fields = FIELDS.map((field, at) => spelledOut(parts[at] ?? '', field, schedule));
  // the library has rules of its own for steps and for days that are restricted: it gets plain lists
  return new Cron(fields.join(' '), { timezone: 'UTC', mode: '5-part' });
}

/** All values of a field with commas between them; `*` when it restricts nothing. */
function spelledOut(text: string, field: Field, schedule: string): string {
  const values = new Set<number>();
  let isFree = false;
  for (const part of text.split(',')) {
    const found = valuesOf(part, field);
    if (found === undefined) throw invalid(schedule, `${field.what} within ${rangeOf(field)}, not ${quoted(part)}`);
    for (const value of found) values.add(value);
    isFree ||= /^[*?]/.test(part) && found.length > field.last - field.first;
  }
  return isFree ? '*' : [...values].join(',');
}

/** The values that a part of a list stands for, at least one; undefined when it cannot be read. */
function valuesOf(part: string, field: Field): readonly number[] | undefined {
  const groups = PART.exec(part)?.groups;
  if (groups === undefined) return undefined;
  const { from, to, step } = groups;
  const first = from === undefined ? field.first : numberOf(from, field);
  const isOne = from !== undefined && to === undefined && step === undefined;
  const last = to === undefined ? (isOne ? first : field.last) : numberOf(to, field);
  const stride = Number(step ?? 1);
  if (!(field.first <= first && first <= last && last <= field.last && stride > 0)) return undefined;
  return Array.from({ length: Math.floor((last - first) / stride) + 1 }, (_, at) => first + at * stride);
}

/** NaN when it is neither a number nor a name. */
function numberOf(text: string, { first, names = [] }: Field): number {
  const at = names.indexOf(text.toLowerCase());
  if (at >= 0) return first + at;
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

const rangeOf = ({ first, last, names }: Field): string =>
  `${first}-${last}${names === undefined ? '' : ` or ${names[0]}-${names.at(-1)}`}`;

const invalid = (schedule: string, expected: string): Error =>
  new Error(`invalid cron schedule ${quoted(schedule)}, expected ${expected}`);
