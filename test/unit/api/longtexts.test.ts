/**
 * Texts of the maximum length that the API server accepts must not block the event loop or be repeated in a message.
 */
import { describe, expect, it } from '@jest/globals';
import { instanceIdOf } from '#aws/testing';
import { amountOf } from '#engine/model';
import { parseCron } from '../../../src/api/cron.ts';
import { durationNanos } from '../../../src/api/duration.ts';
import { canonicalQuantity, compareQuantities, parseQuantity } from '../../../src/api/quantity.ts';
import { compile } from '../../../src/api/schema/cel.ts';
import { regularExpression } from '../../../src/api/schema/regexp.ts';
import { withinCpuTime } from '../../support/cpu-time.ts';

const LONG = 200_000;
/** A superlinear implementation takes minutes or does not end. */
const LIMIT_MS = 5_000;
const SCHEDULE = '^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\\s(.+)\\s(.+)\\s(.+)\\s(.+))$';

const within = <T>(work: () => T): T => withinCpuTime(LIMIT_MS, work);

describe('a text of 200,000 characters', () => {
  it.each<[string, () => unknown]>([
    ['digits for a duration', () => durationNanos('1'.repeat(LONG))],
    ['terms for a duration', () => durationNanos('1s'.repeat(LONG / 2))],
    ['terms and an invalid one for a duration', () => durationNanos(`${'1s'.repeat(LONG / 2)}x`)],
    ['letters for a quantity', () => parseQuantity('x'.repeat(LONG))],
    ['digits and no suffix for a quantity', () => parseQuantity(`${'1'.repeat(LONG)}x`)],
    ['fields for a schedule', () => parseCron('* '.repeat(LONG / 2))],
    ['minutes for a schedule', () => parseCron(`${'1,'.repeat(LONG / 2)}1 * * * *`)],
    ['slashes for a provider id', () => instanceIdOf(`aws:///${'/'.repeat(LONG)}\n`)],
    ['separators for a provider id', () => instanceIdOf(':///'.repeat(LONG / 4))],
  ])('is rejected quickly and quoted in part: %s', (_, read) => {
    const error = within(() => {
      try {
        return read();
      } catch (thrown) {
        return thrown;
      }
    });
    if (error instanceof Error) expect(error.message.length).toBeLessThan(300);
    else throw new Error('it was accepted');
  });

  it.each([
    ['1'.repeat(LONG), '9223372036854775807'],
    [`${'0'.repeat(LONG)}1`, '1'],
    [`1.${'0'.repeat(LONG)}`, '1'],
    [`1.${'0'.repeat(LONG)}1`, '1000000001n'],
    [`0.${'0'.repeat(LONG)}1Ki`, '1n'],
    [`${'1'.repeat(LONG)}e-${LONG - 3}`, '111111111112n'],
    [`1e${'9'.repeat(LONG)}`, '9223372036854775807'],
    [`1e-${'9'.repeat(LONG)}`, '1n'],
    [`0e${'9'.repeat(LONG)}`, '0'],
    ['1e99999999', '9223372036854775807'],
  ])('is parsed as in Kubernetes if it is a quantity, case %#', (text, canonical) => {
    expect(within(() => compareQuantities(text, canonical))).toBe(0);
    expect(within(() => parseQuantity(text))).toBe(parseQuantity(canonical));
    expect(within(() => amountOf('cpu', text))).toBe(amountOf('cpu', canonical));
  });

  it('is matched against the patterns of CRDs and rules in linear time', () => {
    const spaces = 'a '.repeat(LONG / 8);
    expect(within(() => regularExpression(SCHEDULE).test(`${spaces}\n`))).toBe(false);
    expect(within(() => regularExpression('^(a+)+$').test(`${'a'.repeat(LONG)}b`))).toBe(false);
    expect(within(() => compile("self.matches('^(a+)+$')").run(`${'a'.repeat(LONG)}b`))).toBe(false);
    expect(within(() => compile("self.find('(a+)+$')").run(`${'a'.repeat(LONG)}b`))).toBe('');
  });
});

describe('a regular expression', () => {
  it.each([
    ['^\\d{2}\\z', '42', true],
    ['(?i)^abc$', 'ABC', true],
    ['^[[:alpha:]]+$', 'abc', true],
    ['(?P<name>x)', 'axb', true],
    ['^.$', '😀', true],
    ['a$', 'a\n', false],
  ])('is parsed as in Go: %s', (pattern, text, is) => {
    expect(regularExpression(pattern).test(text)).toBe(is);
  });

  it('throws a syntax error if it is invalid', () => {
    expect(() => regularExpression('(')).toThrow(SyntaxError);
  });
});

describe('canonicalQuantity', () => {
  it('is exact for the maximum number of digits', () => {
    expect(canonicalQuantity('9223372036854775806.999999999')).toBe('9223372036854775806999999999n');
  });
});
