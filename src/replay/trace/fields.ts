/** Reads the fields of a line of a trace. Each message contains the field and the expected value. */
import { Field, FieldFault, nearestName, quoted, type Wording } from '#lib';

/** Maximum nesting depth, far deeper than any Kubernetes object. */
const MOST_LEVELS = 100;

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
};

const WORDING: Wording = {
  text: 'a text',
  object: 'an object',
  isNullGiven: true,
  problem: (expected, value) =>
    value === undefined
      ? `is missing; it must be ${expected}`
      : `is ${typeof value === 'number' ? value : typeOf(value)}; it must be ${expected}`,
  error: (path, problem) => new FieldFault(path, problem),
};

/** @param name name of the object in messages; names of its fields do not include it */
export function lineObject(value: unknown, name: string): Field {
  checkTree(value);
  objectField(value, name);
  return objectField(value, '');
}

export const objectField = (value: unknown, path: string): Field => new Field(value, WORDING, path).object();

/** @param most maximum number of characters */
export function textOf(field: Field, most = 253): string {
  const value = field.text();
  if (value === '') field.fail('is empty; it must be a text');
  return value.length > most ? field.fail(`has ${value.length} characters, more than the maximum of ${most}`) : value;
}

export interface Range {
  readonly from: number;
  readonly to: number;
  /** Unit in messages, for example `seconds`. */
  readonly of: string;
}

export function numberOf(field: Field, { from, to, of }: Range): number {
  const value = field.value as number;
  field.expect(typeof value === 'number' && value >= from && value <= to, `${of} from ${from} to ${to}`);
  return value;
}

export function wholeOf(field: Field, range: Range): number {
  const value = numberOf(field, range);
  field.expect(Number.isInteger(value), `a whole number: ${range.of}`);
  return value;
}

/** Refuses unknown fields, because most of them are misspelt. */
export function checkNames(object: Field, names: readonly string[]): void {
  for (const name of object.keys()) {
    if (names.includes(name)) continue;
    const near = nearestName(name, names);
    throw new FieldFault(
      quoted(name),
      near === undefined ? `is unknown; use one of ${names.join(', ')}` : `is unknown; did you mean ${near}?`,
    );
  }
}

/** Refuses values that are nested too deeply, and keys that would change the prototype of an object. */
function checkTree(value: unknown): void {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS)
      throw new FieldFault('', `is nested more than ${MOST_LEVELS} levels deep; remove the deeper levels`);
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      if (Object.hasOwn(one, '__proto__'))
        throw new FieldFault('"__proto__"', 'is not a valid key in a Kubernetes object; remove it');
      for (const inner of Object.values(one)) next.push(inner);
    }
    level = next;
  }
}
