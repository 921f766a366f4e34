import { describe, expect, it } from '@jest/globals';
import { sameItems } from '../../../src/lib/same-items.ts';

describe('lists', () => {
  const [a, b] = [{ name: 'a' }, { name: 'b' }];

  it('are the same with the very same things in the same order', () => {
    expect(sameItems([a, b], [a, b])).toBe(true);
    expect(sameItems([], [])).toBe(true);
  });

  it.each([
    ['another order', [b, a]],
    ['less', [a]],
    ['more', [a, b, a]],
    ['what is merely equal', [a, { ...b }]],
  ])('differ with %s', (_, other) => {
    expect(sameItems([a, b], other)).toBe(false);
  });
});
