/** Integers as labels and bounds on labels have them: 64 bits with a sign, compared exactly, as Kubernetes does. */

/** A `bigint` only where a number would not be exact, so that equal integers are equal values. Both compare with `<`. */
export type Integer = number | bigint;

const INTEGER = /^[+-]?\d+$/;
/** The longest value that a label can have. */
const MOST_CHARACTERS = 63;

export const MAX_INT64: Integer = 2n ** 63n - 1n;
const MIN_INT64: Integer = -(2n ** 63n);

const shortest = (integer: bigint): Integer =>
  integer >= Number.MIN_SAFE_INTEGER && integer <= Number.MAX_SAFE_INTEGER ? Number(integer) : integer;

/** Undefined for a text that is no integer of 64 bits. */
export function parseInteger(text: string): Integer | undefined {
  if (text.length > MOST_CHARACTERS || !INTEGER.test(text)) return undefined;
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  const exact = BigInt(text);
  return exact >= MIN_INT64 && exact <= MAX_INT64 ? exact : undefined;
}

/** The sum, which may need more than 64 bits. */
export function plus(integer: Integer, step: 1 | -1): Integer {
  const sum = Number(integer) + step;
  return typeof integer === 'number' && Number.isSafeInteger(sum) ? sum : shortest(BigInt(integer) + BigInt(step));
}

export const larger = <T extends Integer>(a: T | undefined, b: T | undefined): T | undefined =>
  a === undefined ? b : b === undefined || a >= b ? a : b;

export const smaller = <T extends Integer>(a: T | undefined, b: T | undefined): T | undefined =>
  a === undefined ? b : b === undefined || a <= b ? a : b;
