/** Values at the limits of their types, and values that look like other types. */

/** Property names that every plain JavaScript object inherits. */
export const ODD_KEYS = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'] as const;

export const NUMBERS = [
  0,
  -1,
  1,
  2 ** 31 - 1,
  -(2 ** 31),
  2 ** 53,
  Number.MAX_SAFE_INTEGER,
  2 ** 63 - 1024,
  -(2 ** 63) + 1024,
  0.5,
] as const;

/** Values that a real API server accepts as quantities. */
export const QUANTITIES = [
  '0',
  '-1',
  '1e1.5',
  '9223372036854775807',
  '99999999999999999999999999',
  '1e999',
  '0.000000000000000000001',
  '-8Ei',
  '1n',
  '.5',
  '+1',
  '5.',
] as const;

/** Texts in the order of their importance. Only the first ones are tried for fields that accept any text. */
export const TEXTS = [
  '99999999h',
  'a'.repeat(200_000),
  '\u202e\u0000\ud83d\ude00\ufeff',
  '__proto__',
  '9007199254740993',
  '99999999999999999999999999',
  '',
  'line\r\nbreak\ttab',
  '1'.repeat(100_000),
  'constructor',
  '0',
  '-1',
  '1e999',
  'a'.repeat(64),
  '../../../etc/passwd',
  '{{ .Values }} $(id) %s %n',
  '0 0 31 2 *',
  '60 25 * * *',
  '100%',
  'Ti',
  '99999999h99999999m',
] as const;
