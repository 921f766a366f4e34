/**
 * Cron schedules in the format of Kubernetes CronJobs (https://pkg.go.dev/github.com/robfig/cron/v3). Rejects extensions of
 * other cron dialects (7 for Sunday, L, W, #), as that parser does. Otherwise a budget that other tools reject could be active
 * here at unexpected times.
 */
import { Cron } from 'croner';
import { quoted } from '#lib';

interface Field {
  readonly what: string;
  readonly first: number;
  readonly last: number;
  /** Names of the values from `first` on, with three letters each. */
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

/** Maximum length. A list of all values of all fields needs half of it. */
const MAX_LENGTH = 1_000;

/** `*`, `?`, a value or a range; `/` and a step. */
const PART = /^(?:[*?]|(?<from>\w+)(?:-(?<to>\w+))?)(?:\/(?<step>\d+))?$/;

/**
 * Parses a schedule in UTC: five fields, or a shortcut. `5/10` means `5-59/10`. If both day fields are restricted, one of them
 * must match.
 * @throws Error with the schedule and the part that cannot be parsed
 */
export function parseCron(schedule: string): Cron {
  if (schedule.length > MAX_LENGTH) throw invalid(schedule, `at most ${MAX_LENGTH} characters`);
  const parts = (SHORTCUTS.get(schedule) ?? schedule).trim().split(/\s+/);
  if (parts.length !== FIELDS.length) throw invalid(schedule, 'five fields or a shortcut such as @daily');
  const fields = FIELDS.map((field, at) => listValues(parts[at] ?? '', field, schedule));
  // expands the fields to plain lists, because the library has different rules for steps and restricted days
  return new Cron(fields.join(' '), { timezone: 'UTC', mode: '5-part' });
}

/** Returns all values of a field, separated by commas, or `*` if the field has no restriction. */
function listValues(text: string, field: Field, schedule: string): string {
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

/** Returns the values of one part of a list, at least one. Returns undefined if the part is invalid. */
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

/** Returns NaN if the text is neither a number nor a name. */
function numberOf(text: string, { first, names = [] }: Field): number {
  const at = names.indexOf(text.toLowerCase());
  if (at >= 0) return first + at;
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

const rangeOf = ({ first, last, names }: Field): string =>
  `${first}-${last}${names === undefined ? '' : ` or ${names[0]}-${names.at(-1)}`}`;

const invalid = (schedule: string, expected: string): Error =>
  new Error(`invalid cron schedule ${quoted(schedule)}, expected ${expected}`);
