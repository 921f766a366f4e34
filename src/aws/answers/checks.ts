/** What a value of an answer has to be like where the operator reads it. */
import { Field, FieldFault, type Wording } from '../../lib/field.ts';

/** Throws a FieldFault if a value cannot be used. */
export type Check = (field: Field) => unknown;

/** The members of a structure that are read. All others may be anything. */
export type Members<T> = { readonly [K in keyof T]?: Check };

const WORDING: Wording = {
  text: 'a text',
  object: 'a structure',
  problem: (expected, value) => (value === undefined || value === null ? 'is missing' : `is not ${expected}`),
  error: (path, problem) => new FieldFault(path, problem),
};

/** Returns what is wrong with a value, as `path is …`, or undefined if the value can be used. */
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

/** Longer than any name, id or ARN; bodies of messages are not checked for it. */
const LONGEST = 4_096;

/** A text that is not empty. */
export function text(field: Field): string {
  const value = field.text();
  if (value === '') field.fail('is empty');
  return value.length > LONGEST ? field.fail(`has ${value.length} characters`) : value;
}

export const anyText: Check = (field) => field.text();

/** A text for which `holds`, which makes it `what`. */
export const textThat =
  (holds: (value: string) => boolean, what: string): Check =>
  (field) =>
    field.expect(holds(text(field)), what);

export const flag: Check = (field) => field.flag();

/** A number from 0 to `most`. */
export const amount =
  (most = 1e12): Check =>
  (field) => {
    const value = field.value as number;
    field.expect(typeof value === 'number', 'a number');
    if (!(value >= 0 && value <= most)) field.fail(`is ${value}, not a number from 0 to ${most}`);
  };

/** A number above 0. */
export const some = (most?: number): Check => {
  const check = amount(most);
  return (field) => {
    check(field);
    if (field.value === 0) field.fail('is 0');
  };
};

export const moment: Check = (field) =>
  field.expect(field.value instanceof Date && !Number.isNaN(field.value.getTime()), 'a time');

/** A moment as text. */
export const momentText: Check = textThat((value) => !Number.isNaN(Date.parse(value)), 'a time');

export const list =
  (item: Check, { atLeast = 0 }: { readonly atLeast?: number } = {}): Check =>
  (field) => {
    const items = field.required().items();
    if (items.length < atLeast) field.fail('is empty');
    items.forEach(item);
  };

/** Of type `T`, so that no member's name is misspelt. */
export const structure = <T>(members: Members<T>): Check => {
  const checks = Object.entries(members) as [string, Check][];
  return (field) => {
    field.object();
    for (const [name, check] of checks) check(field.at(name));
  };
};

export const anything: Check = () => undefined;
