/** Checks of the response values that the operator reads. */
import { Field, FieldFault, type Wording } from '#lib';

/** Check of one value. Throws FieldFault if the value is unusable. */
export type Check = (field: Field) => unknown;

/** Checks of the members that the operator reads. Other members are not checked. */
export type Members<T> = { readonly [K in keyof T]?: Check };

const WORDING: Wording = {
  text: 'a text',
  object: 'a structure',
  problem: (expected, value) => (value === undefined || value === null ? 'is missing' : `is not ${expected}`),
  error: (path, problem) => new FieldFault(path, problem),
};

/** Returns the problem with a value, as `path is …`, or undefined if the value is usable. */
export function problemOf(check: Check, value: unknown, path = ''): string | undefined {
  try {
    check(new Field(value, WORDING, path));
    return undefined;
  } catch (error) {
    if (error instanceof FieldFault) return error.message;
    throw error;
  }
}

export const optional =
  (check: Check): Check =>
  (field) =>
    field.isMissing || check(field);

/** Longer than any name, ID or ARN. Bodies of messages are not limited to it. */
const LONGEST = 4_096;

/** Accepts a nonempty text. */
export function text(field: Field): string {
  const value = field.text();
  if (value === '') field.fail('is empty');
  return value.length > LONGEST ? field.fail(`has ${value.length} characters`) : value;
}

export const anyText: Check = (field) => field.text();

/** Accepts a text that satisfies the predicate. `what` describes the expected text in errors. */
export const textThat =
  (holds: (value: string) => boolean, what: string): Check =>
  (field) =>
    field.expect(holds(text(field)), what);

export const flag: Check = (field) => field.flag();

/** Accepts a number from 0 to `most`. */
export const amount =
  (most = 1e12): Check =>
  (field) => {
    const value = field.value as number;
    field.expect(typeof value === 'number', 'a number');
    if (!(value >= 0 && value <= most)) field.fail(`is ${value}, not a number from 0 to ${most}`);
  };

/** Accepts a number above 0. */
export const some = (most?: number): Check => {
  const check = amount(most);
  return (field) => {
    check(field);
    if (field.value === 0) field.fail('is 0');
  };
};

export const moment: Check = (field) =>
  field.expect(field.value instanceof Date && !Number.isNaN(field.value.getTime()), 'a time');

/** Accepts a time as text. */
export const momentText: Check = textThat((value) => !Number.isNaN(Date.parse(value)), 'a time');

export const list =
  (item: Check, { atLeast = 0 }: { readonly atLeast?: number } = {}): Check =>
  (field) => {
    const items = field.required().items();
    if (items.length < atLeast) field.fail('is empty');
    items.forEach(item);
  };

/** The type parameter makes the compiler check the names of the members. */
export const structure = <T>(members: Members<T>): Check => {
  const checks = Object.entries(members) as [string, Check][];
  return (field) => {
    field.object();
    for (const [name, check] of checks) check(field.at(name));
  };
};

export const anything: Check = () => undefined;
