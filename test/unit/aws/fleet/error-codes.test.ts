/** One error code of each class, and codes that are not classified. The long test has all codes. */
import { describe, expect, it } from '@jest/globals';
import { classOf, KNOWN_CODES } from '../../../../src/aws/error-codes.ts';
import { describeAttempts } from './attempts-law.ts';

const byClass = Map.groupBy(KNOWN_CODES, classOf);

describeAttempts([...[...byClass.values()].flatMap((codes) => codes.slice(0, 1)), 'SpotMaxPriceTooLow', 'SomeNewCode']);

describe('the table of error codes', () => {
  it('has each code once', () => {
    expect(new Set(KNOWN_CODES).size).toBe(KNOWN_CODES.length);
    expect([...byClass].map(([name]) => name)).not.toContain('unknown');
  });

  it.each(['', 'toString', 'SomeNewCode'])('classifies %j as unknown', (code) => {
    expect(classOf(code)).toBe('unknown');
  });
});
