import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  milliValue,
  parseQuantity,
  printQuantity,
  readQuantity,
} from '../../../src/api/quantity.ts';

describe('parseQuantity', () => {
  it.each([
    ['0', 0],
    [5, 5],
    [1.5, 1.5],
    ['100m', 0.1],
    ['1500m', 1.5],
    ['2', 2],
    ['1.5', 1.5],
    ['.5', 0.5],
    ['5.', 5],
    ['+3', 3],
    ['-3', -3],
    ['1k', 1000],
    ['1Ki', 1024],
    ['1.5Gi', 1_610_612_736],
    ['1e3', 1000],
    ['1E3', 1000],
    ['1E', 1e18],
    ['1e-3', 0.001],
    ['250u', 0.00025],
    ['7n', 7e-9],
    ['1Ei', 2 ** 60],
  ])('parses %p as %p', (text, value) => {
    expect(parseQuantity(text)).toBeCloseTo(value, 12);
  });

  it.each([
    '',
    'm',
    '.',
    '1.2.3',
    '1KiB',
    '1 Gi',
    '0x10',
    '1e',
    'e3',
    '1e1.5',
    '--1',
    'ten',
    '1gi',
  ])('rejects %p with the expected format', (text) => {
    expect(() => parseQuantity(text)).toThrow(/Cannot read quantity .*expected a number with a suffix/);
  });
});

describe('canonicalQuantity', () => {
  it.each([
    ['0', '0'],
    ['0Gi', '0'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['1.5', '1500m'],
    ['0.5Gi', '512Mi'],
    ['1024Mi', '1Gi'],
    ['1536Mi', '1536Mi'],
    ['1000Mi', '1000Mi'],
    ['1023', '1023'],
    ['0.5Ki', '512'],
    ['1000', '1k'],
    ['100000', '100k'],
    ['1500', '1500'],
    ['1e3', '1e3'],
    ['1500e3', '1500e3'],
    ['1e1', '10'],
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['1.3Ki', '1331200m'],
    ['10E', '9223372036854775807'],
    ['-1Gi', '-1Gi'],
    ['2G', '2G'],
  ])('converts %p to %p', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical);
  });
});

describe('milliValue', () => {
  it.each([
    ['1', 1000],
    ['100m', 100],
    ['1u', 1],
    ['-1u', -1],
    ['1500u', 2],
  ])('rounds %p up to %p thousandths', (text, milli) => {
    expect(milliValue(text)).toBe(milli);
  });
});

describe('formatQuantity', () => {
  it.each([
    [0.1, 'DecimalSI', '100m'],
    [4 * 2 ** 30, 'BinarySI', '4Gi'],
    [4 * 2 ** 30, 'DecimalSI', '4294967296'],
    [3, 'DecimalSI', '3'],
    [512, 'BinarySI', '512'],
    [1e6, 'DecimalExponent', '1e6'],
  ] as const)('formats %p as %s: %s', (value, format, text) => {
    expect(formatQuantity(value, format)).toBe(text);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('rejects %p', (value) => {
    expect(() => formatQuantity(value)).toThrow(/expected a finite number/);
  });
});

describe('a property of each quantity', () => {
  const format = fc.constantFrom('DecimalSI' as const, 'BinarySI' as const, 'DecimalExponent' as const);
  const nano = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n });
  const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'E-2');
  const text = fc
    .tuple(fc.constantFrom('', '-', '+'), fc.nat(), fc.option(fc.nat({ max: 9999 })), suffix)
    .map(([sign, whole, fraction, unit]) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${unit}`);

  it('parses a formatted value to the same value', () => {
    fc.assert(
      fc.property(nano, format, (value, as) => {
        expect(readQuantity(printQuantity({ nano: value, format: as })).nano).toBe(value);
      }),
    );
  });

  it('preserves the canonical form and the value', () => {
    fc.assert(
      fc.property(text, (written) => {
        const canonical = canonicalQuantity(written);
        expect(canonicalQuantity(canonical)).toBe(canonical);
        expect(compareQuantities(canonical, written)).toBe(0);
      }),
    );
  });

  it('compares like numbers', () => {
    fc.assert(
      fc.property(text, text, (left, right) => {
        const order = compareQuantities(left, right);
        expect(compareQuantities(right, left)).toBe(order === 0 ? 0 : -order);
        if (order < 0) expect(parseQuantity(left)).toBeLessThanOrEqual(parseQuantity(right));
      }),
    );
  });

  it('returns the same number in the fast path', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 999_999 }),
        fc.constantFrom('', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi'),
        (digits, unit) => {
          const written = `${digits}${unit}`;
          const { nano } = readQuantity(written);
          expect(parseQuantity(written)).toBe(Number(`${nano}e-9`));
        },
      ),
    );
  });
});
