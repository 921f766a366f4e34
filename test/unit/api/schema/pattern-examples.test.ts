/** Values in messages instead of regular expressions. */
import { expect, it } from '@jest/globals';
import { customResourceDefinitions, exampleOf, regularExpression } from '#api/schema';

const patterns = new Set<string>();
JSON.parse(JSON.stringify(customResourceDefinitions()), (key, value) => {
  if (key === 'pattern' && typeof value === 'string') patterns.add(value);
  return value;
});

it('finds the patterns of all custom resources', () => {
  expect(patterns.size).toBeGreaterThan(20);
});

it.each([...patterns])('has a declared example that matches: %s', (pattern) => {
  const example = exampleOf(pattern);
  expect(example).toBeDefined();
  expect(regularExpression(pattern).test(example ?? '')).toBe(true);
});
