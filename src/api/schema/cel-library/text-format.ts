/** `'…'.format([…])`: texts with places for values, as the string extensions of the Common Expression Language have them. */
import type { Environment } from '@marcbachmann/cel-js';

const PLACE = /%(?:\.(\d+))?(.)?/gsu;
/** Of `%f` and `%e` without a precision. */
const DIGITS = 6;
/** More is not asked for by anybody who means it. */
const MOST_DIGITS = 100;

/** @throws RangeError when values and places do not go together */
function formatted(text: string, values: readonly unknown[]): string {
  let at = 0;
  return text.replace(PLACE, (place, precision: string | undefined, verb: string | undefined) => {
    if (verb === '%' && precision === undefined) return '%';
    if (verb === undefined) throw new RangeError('unexpected end of string');
    if (at >= values.length) throw new RangeError(`index ${at} out of range`);
    const value = values[at++];
    if (precision !== undefined && !'fe'.includes(verb))
      throw new RangeError(`could not parse formatting clause: unrecognized formatting clause "${place}"`);
    return clause(verb, value, Math.min(Number(precision ?? DIGITS), MOST_DIGITS));
  });
}

function clause(verb: string, value: unknown, digits: number): string {
  if (verb === 's') return shown(value);
  if (verb === 'd') return whole(verb, value).toString();
  if (verb === 'f') return number(verb, value).toFixed(digits);
  if (verb === 'e') return exponential(number(verb, value), digits);
  if (verb === 'b') return typeof value === 'boolean' ? String(Number(value)) : whole(verb, value).toString(2);
  if (verb === 'o') return whole(verb, value).toString(8);
  if (verb === 'x' || verb === 'X') {
    const text = typeof value === 'string' ? hexOf(value) : whole(verb, value).toString(16);
    return verb === 'X' ? text.toUpperCase() : text;
  }
  throw new RangeError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
}

const wrong = (verb: string): RangeError =>
  new RangeError(`error during formatting: %${verb} cannot be used with a value of this type`);

function whole(verb: string, value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  throw wrong(verb);
}

function number(verb: string, value: unknown): number {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value);
  throw wrong(verb);
}

/** At least two digits of the exponent. */
const exponential = (value: number, digits: number): string =>
  value.toExponential(digits).replace(/e([+-])(\d)$/, 'e$10$2');

const hexOf = (text: string): string =>
  [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** As `%s` shows a value: those within lists and maps as well. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (value instanceof Date)
    return value.toISOString().replace(value.getUTCMilliseconds() === 0 ? '.000Z' : /0{1,2}Z$/, 'Z');
  if (value instanceof Map) return shownMap([...value]);
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype)
    return shownMap(Object.entries(value));
  return String(value);
}

const shownMap = (entries: readonly (readonly [unknown, unknown])[]): string =>
  `{${entries
    .map(([key, value]) => `${shown(key)}: ${shown(value)}`)
    .sort()
    .join(', ')}}`;

export const registerTextFormat = (environment: Environment): Environment =>
  environment.registerFunction('string.format(list): string', formatted);
