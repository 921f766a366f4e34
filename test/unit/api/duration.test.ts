import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { durationNanos, durationOrNever, formatDuration, parseDuration } from '../../../src/api/duration.ts';

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['0s', 0],
    ['90s', 90_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['300ms', 300],
    ['1us', 0.001],
    ['1µs', 0.001],
    ['-2m', -120_000],
    ['+2m', 120_000],
    ['720h', 2_592_000_000],
    ['1h1h', 7_200_000],
  ])('parses %p as %p ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    '',
    '5',
    '5 s',
    '1d',
    's',
    '.s',
    '1h-5m',
    'Never',
    '1h5',
    '300000h0m0s9999999999h',
  ])('rejects %p', (text) => {
    expect(() => parseDuration(text)).toThrow(/Cannot read duration/);
  });

  it('treats Never and an absent value as unlimited', () => {
    expect(durationOrNever('Never')).toBe(Number.POSITIVE_INFINITY);
    expect(durationOrNever(undefined)).toBe(Number.POSITIVE_INFINITY);
    expect(durationOrNever('30s')).toBe(30_000);
  });
});

describe('formatDuration', () => {
  it.each([
    [0, '0s'],
    [5_400_000, '1h30m0s'],
    [300_000, '5m0s'],
    [1500, '1.5s'],
    [300, '300ms'],
    [1.5, '1.5ms'],
    [0.0015, '1.5µs'],
    [0.000001, '1ns'],
    [-61_000, '-1m1s'],
    [3_600_000, '1h0m0s'],
  ])('formats %p ms as %p', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('formats a text that parses to the same value', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 1e12 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});

describe('a property of each duration', () => {
  const term = fc.tuple(fc.nat({ max: 999 }), fc.constantFrom('ns', 'us', 'ms', 's', 'm', 'h'));

  it('sums the terms in any order', () => {
    fc.assert(
      fc.property(fc.array(term, { minLength: 1, maxLength: 5 }), (terms) => {
        const texts = terms.map(([count, unit]) => `${count}${unit}`);
        const sum = texts.reduce((total, text) => total + durationNanos(text), 0n);
        expect(durationNanos(texts.join(''))).toBe(sum);
        expect(durationNanos([...texts].reverse().join(''))).toBe(sum);
      }),
    );
  });
});
