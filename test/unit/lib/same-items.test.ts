import { describe, expect, it } from '@jest/globals';
import { sameItems } from '../../../src/lib/same-items.ts';

describe('sameItems', () => {
  const [a, b] = [{ name: 'a' }, { name: 'b' }];

  it('returns true for identical items in the same order', () => {
    expect(sameItems([a, b], [a, b])).toBe(true);
    expect(sameItems([], [])).toBe(true);
  });

  it.each([
    ['another order', [b, a]],
    ['fewer items', [a]],
    ['more items', [a, b, a]],
    ['an item that is equal but not identical', [a, { ...b }]],
  ])('returns false for %s', (_, other) => {
    expect(sameItems([a, b], other)).toBe(false);
  });
});
