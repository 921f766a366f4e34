/** Reads the fields of a value that came as JSON. Each throws a FieldFault that names the field and what it must be. */
import { nearestName } from '../../lib/nearest-name.ts';
import { quoted } from '../../lib/quoted.ts';
import { FieldFault } from './trace-error.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Far deeper than any object of Kubernetes. */
const MOST_LEVELS = 100;

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
};

/** The value of an own field. */
export const fieldOf = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined;

const wanted = (field: string, value: unknown, what: string): FieldFault =>
  value === undefined
    ? new FieldFault(field, `is missing; it must be ${what}`)
    : new FieldFault(field, `is ${typeof value === 'number' ? value : typeOf(value)}; it must be ${what}`);

export function record(value: unknown, field: string): Fields {
  if (!isFields(value)) throw wanted(field, value, 'an object');
  return value;
}

/** @param most characters */
export function text(value: unknown, field: string, most = 253): string {
  if (typeof value !== 'string') throw wanted(field, value, 'a text');
  if (value === '') throw new FieldFault(field, 'is empty; it must be a text');
  if (value.length > most) throw new FieldFault(field, `has ${value.length} characters; it may have ${most}`);
  return value;
}

export interface Range {
  readonly from: number;
  readonly to: number;
  /** `seconds`, for the message. */
  readonly of: string;
}

export function number(value: unknown, field: string, { from, to, of }: Range): number {
  const isInside = typeof value === 'number' && value >= from && value <= to;
  if (!isInside) throw wanted(field, value, `${of} from ${from} to ${to}`);
  return value;
}

export function whole(value: unknown, field: string, range: Range): number {
  const found = number(value, field, range);
  if (!Number.isInteger(found)) throw wanted(field, value, `a whole number: ${range.of}`);
  return found;
}

/** Refuses fields that have no meaning, most of which are misspelt. */
export function known(fields: Fields, names: readonly string[], field: string): void {
  for (const name of Object.keys(fields)) {
    if (names.includes(name)) continue;
    const near = nearestName(name, names);
    const path = field === '' ? quoted(name) : `${field}.${name.slice(0, 100)}`;
    throw new FieldFault(
      path,
      near === undefined ? `is unknown; known are ${names.join(', ')}` : `is unknown; did you mean ${near}?`,
    );
  }
}

/** Refuses values that are nested too deeply to be worked on, and keys that would change what an object inherits. */
export function checkTree(value: unknown): void {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS)
      throw new FieldFault('', `is nested more than ${MOST_LEVELS} levels deep; leave out what is so deep`);
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      if (Object.hasOwn(one, '__proto__'))
        throw new FieldFault('"__proto__"', 'is no key of any object of Kubernetes; leave it out');
      for (const inner of Object.values(one)) next.push(inner);
    }
    level = next;
  }
}
