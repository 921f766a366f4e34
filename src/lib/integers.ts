/** Signed 64-bit integers in labels and in bounds on labels. They are compared exactly, as in Kubernetes. */

/**
 * An integer is a `bigint` only if a number would not be exact, so that equal integers are equal values. The operator `<`
 * compares both types.
 */
export type Integer = number | bigint;

const INTEGER = /^[+-]?\d+$/;
/** Maximum length of a label value. */
const MOST_CHARACTERS = 63;

export const MAX_INT64: Integer = 2n ** 63n - 1n;
const MIN_INT64: Integer = -(2n ** 63n);

const shortest = (integer: bigint): Integer =>
  integer >= Number.MIN_SAFE_INTEGER && integer <= Number.MAX_SAFE_INTEGER ? Number(integer) : integer;

/** Parses an integer. Returns undefined if the text is not a 64-bit integer. */
export function parseInteger(text: string): Integer | undefined {
  if (text.length > MOST_CHARACTERS || !INTEGER.test(text)) return undefined;
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  const exact = BigInt(text);
  return exact >= MIN_INT64 && exact <= MAX_INT64 ? exact : undefined;
}

/** Returns the sum. This sum may need more than 64 bits. */
export function plus(integer: Integer, step: 1 | -1): Integer {
  const sum = Number(integer) + step;
  return typeof integer === 'number' && Number.isSafeInteger(sum) ? sum : shortest(BigInt(integer) + BigInt(step));
}

export const larger = <T extends Integer>(a: T | undefined, b: T | undefined): T | undefined =>
  a === undefined ? b : b === undefined || a >= b ? a : b;

export const smaller = <T extends Integer>(a: T | undefined, b: T | undefined): T | undefined =>
  a === undefined ? b : b === undefined || a <= b ? a : b;
