/** Resource quantities, parsed, compared and formatted as in Kubernetes: exact to a billionth, at most 2^63 - 1. */

import { quoted, tryRun } from '#lib';
import type { Quantity } from './kubernetes.ts';

/** Suffix family of a quantity, which formatting preserves. */
type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** Exact quantity in billionths. */
interface ExactQuantity {
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

const BILLION = 1_000_000_000n;
const MAX_NANO = (2n ** 63n - 1n) * BILLION;
/** Number of significant digits: the largest value has 19 digits before the point and 9 digits after it. */
const MAX_DIGITS = 100;
const MAX_SHIFT = 500;
const DECIMAL_SUFFIXES = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const FORM = /^([+-]?)(\d*)(?:\.(\d*))?([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/;
const PLAIN = /^(\d{1,15})(m|Ki|Mi|Gi|Ti|k|M|G|T)?$/;
const PLAIN_FACTORS: Readonly<Record<string, number>> = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
};

/**
 * Parses a quantity exactly. Digits beyond a billionth are rounded away from zero, as in Kubernetes, so that a very small
 * request does not become zero.
 *
 * @throws {RangeError} if the text is not a quantity.
 */
export function readQuantity(quantity: Quantity): ExactQuantity {
  const text = String(quantity);
  const parts = FORM.exec(text);
  const [, sign, whole = '', fraction = '', suffix = ''] = parts ?? [];
  if (!parts || whole + fraction === '') {
    throw new RangeError(
      `Cannot read quantity ${quoted(text)}: expected a number with a suffix such as m, k, Mi or Gi`,
    );
  }
  const { format, binary, exponent } = scaleOf(suffix);
  const { mantissa, shift } = significant(whole, fraction);
  // larger exponents exceed the range of quantities in any case
  const { numerator, denominator } = powerOfTen(Math.max(-MAX_SHIFT, Math.min(MAX_SHIFT, exponent + shift)));
  const dividend = mantissa * binary * numerator * BILLION;
  const magnitude = (dividend + denominator - 1n) / denominator;
  const capped = magnitude > MAX_NANO ? MAX_NANO : magnitude;
  const belowOne = format === 'BinarySI' && capped > 0n && capped < BILLION;
  return { nano: sign === '-' ? -capped : capped, format: belowOne ? 'DecimalSI' : format };
}

/**
 * Returns `whole.fraction` as `mantissa × 10^shift` with a limited number of digits, so that long texts do not need long
 * computations. The remaining digits count as one more digit, because values are rounded up.
 */
function significant(whole: string, fraction: string): { mantissa: bigint; shift: number } {
  const digits = (whole + fraction).replace(/^0+/, '');
  const cut = digits.length - MAX_DIGITS;
  if (cut <= 0) return { mantissa: BigInt(digits || 0), shift: -fraction.length };
  const rest = /[1-9]/.test(digits.slice(MAX_DIGITS)) ? '1' : '0';
  return { mantissa: BigInt(digits.slice(0, MAX_DIGITS) + rest), shift: cut - 1 - fraction.length };
}

function scaleOf(suffix: string): { format: QuantityFormat; binary: bigint; exponent: number } {
  const binary = BINARY_SUFFIXES.indexOf(suffix);
  if (binary > 0) return { format: 'BinarySI', binary: 1024n ** BigInt(binary), exponent: 0 };
  const decimal = DECIMAL_SUFFIXES.indexOf(suffix);
  if (decimal >= 0) return { format: 'DecimalSI', binary: 1n, exponent: (decimal - 3) * 3 };
  return { format: 'DecimalExponent', binary: 1n, exponent: Number(suffix.slice(1)) };
}

const powerOfTen = (exponent: number): { numerator: bigint; denominator: bigint } =>
  exponent >= 0
    ? { numerator: 10n ** BigInt(exponent), denominator: 1n }
    : { numerator: 1n, denominator: 10n ** BigInt(-exponent) };

/**
 * Returns the value of a quantity in its base unit: cores, bytes or a count.
 *
 * @throws {RangeError} if the text is not a quantity.
 */
export function parseQuantity(quantity: Quantity): number {
  if (typeof quantity === 'number' && Number.isSafeInteger(quantity)) return quantity;
  const plain = PLAIN.exec(String(quantity));
  if (plain) {
    const [, digits, suffix] = plain;
    if (suffix === 'm') return Number(digits) / 1000;
    return Number(digits) * (suffix === undefined ? 1 : (PLAIN_FACTORS[suffix] ?? 1));
  }
  return nearestNumber(readQuantity(quantity).nano);
}

/** Returns true if the text is a quantity. */
export const isQuantity = (text: Quantity): boolean => tryRun(() => readQuantity(text)) !== undefined;

/** Converts through text, which rounds once. A division of large numbers would round twice. */
function nearestNumber(nano: bigint): number {
  const magnitude = nano < 0n ? -nano : nano;
  const value = Number(`${magnitude / BILLION}.${String(magnitude % BILLION).padStart(9, '0')}`);
  return nano < 0n ? -value : value;
}

/** Returns the value of a quantity in thousandths, rounded away from zero. */
export function milliValue(quantity: Quantity): number {
  const { nano } = readQuantity(quantity);
  const million = 1_000_000n;
  return nano < 0n ? -Number((-nano + million - 1n) / million) : Number((nano + million - 1n) / million);
}

/** Returns a negative number, zero or a positive number if the first quantity is smaller, equal or larger. */
export function compareQuantities(left: Quantity, right: Quantity): number {
  const a = readQuantity(left).nano;
  const b = readQuantity(right).nano;
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Formats a value in base units as Kubernetes does, such as `1500m`, `2`, `100k` or, as `BinarySI`, `4Gi`. */
export function formatQuantity(value: number, format: QuantityFormat = 'DecimalSI'): string {
  if (!Number.isFinite(value)) throw new RangeError(`Cannot print quantity ${value}: expected a finite number`);
  const whole = Math.trunc(value);
  const nano = BigInt(whole) * BILLION + BigInt(Math.round((value - whole) * 1e9));
  return printQuantity({ nano, format });
}

/** Returns the canonical form of a quantity. */
export const canonicalQuantity = (quantity: Quantity): string => printQuantity(readQuantity(quantity));

/** Formats an exact quantity in its canonical form. */
export function printQuantity({ nano, format }: ExactQuantity): string {
  const sign = nano < 0n ? '-' : '';
  const magnitude = nano < 0n ? -nano : nano;
  const fitsBinary = format === 'BinarySI' && magnitude % BILLION === 0n && magnitude >= 1024n * BILLION;
  if (fitsBinary) return sign + printBinary(magnitude / BILLION);
  return sign + printDecimal(magnitude, format === 'DecimalExponent');
}

function printBinary(value: bigint): string {
  let mantissa = value;
  let power = 0;
  while (power < BINARY_SUFFIXES.length - 1 && mantissa % 1024n === 0n) {
    mantissa /= 1024n;
    power += 1;
  }
  return `${mantissa}${BINARY_SUFFIXES[power]}`;
}

function printDecimal(nano: bigint, exponential: boolean): string {
  if (nano === 0n) return '0';
  let mantissa = nano;
  let exponent = -9;
  while (mantissa % 1000n === 0n && (exponential || exponent < 18)) {
    mantissa /= 1000n;
    exponent += 3;
  }
  if (!exponential) return `${mantissa}${DECIMAL_SUFFIXES[exponent / 3 + 3]}`;
  return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
}
