import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ValueSet } from '../../../src/engine/valueset.ts';

/** Enough values to tell any two of the generated sets apart: words, and integers around every bound. */
const WORDS = ['a', 'b', 'c'];
const UNIVERSE = [...WORDS, ...Array.from({ length: 14 }, (_, n) => String(n - 2))];

const values = fc.uniqueArray(fc.constantFrom(...UNIVERSE), { maxLength: 4 });
const bound = fc.integer({ min: 0, max: 9 }).map((n) => [String(n)]);
const anySet = fc.oneof(
  values.map((list) => ValueSet.of('In', list)),
  values.map((list) => ValueSet.of('NotIn', list)),
  fc.constantFrom(ValueSet.EXISTS, ValueSet.DOES_NOT_EXIST),
  fc
    .tuple(fc.constantFrom('Gt' as const, 'Lt' as const, 'Gte' as const, 'Lte' as const), bound)
    .map(([operator, list]) => ValueSet.of(operator, list)),
);

describe('a value set', () => {
  it('allows what both allow, once intersected', () => {
    fc.assert(
      fc.property(anySet, anySet, (a, b) => {
        const both = a.intersect(b);
        for (const value of UNIVERSE) expect(both.has(value)).toBe(a.has(value) && b.has(value));
      }),
    );
  });

  it('intersects commutatively, associatively and idempotently', () => {
    fc.assert(
      fc.property(anySet, anySet, anySet, (a, b, c) => {
        expect(a.intersect(b).identity).toBe(b.intersect(a).identity);
        const [left, right] = [a.intersect(b).intersect(c), a.intersect(b.intersect(c))];
        for (const value of UNIVERSE) expect(left.has(value)).toBe(right.has(value));
        for (const value of UNIVERSE) expect(a.intersect(a).has(value)).toBe(a.has(value));
      }),
    );
  });

  it('has an intersection exactly when some value is in both', () => {
    fc.assert(
      fc.property(anySet, anySet, (a, b) => {
        const shared = UNIVERSE.some((value) => a.has(value) && b.has(value));
        expect(a.intersects(b)).toBe(b.intersects(a));
        // Two complements share values beyond any universe, unless their bounds exclude each other.
        if (!a.complement || !b.complement) expect(a.intersects(b)).toBe(shared);
        else if (shared) expect(a.intersects(b)).toBe(true);
      }),
    );
  });

  it('picks a value that it allows', () => {
    fc.assert(
      fc.property(anySet, (set) => {
        const value = set.any();
        if (value === '') expect(set.size).toBe(0);
        else if (set.lte === undefined || set.lte >= 12) expect(set.has(value)).toBe(true);
      }),
    );
  });

  it.each([
    ['In', ['b', 'a'], 'In [a b]'],
    ['NotIn', ['a'], 'NotIn [a]'],
    ['Exists', [], 'Exists'],
    ['DoesNotExist', [], 'DoesNotExist'],
    ['Gt', ['5'], 'Exists >=6'],
    ['Lt', ['17'], 'Exists <=16'],
    ['Gte', ['5'], 'Exists >=5'],
    ['Lte', ['5'], 'Exists <=5'],
    ['Gt', ['9223372036854775807'], 'DoesNotExist'],
    ['In', ['1', '2', '3', '4', '5', '6', '7'], 'In [1 2 3 4 5 and 2 others]'],
  ] as const)('prints %s %j as %s', (operator, list, text) => {
    expect(String(ValueSet.of(operator, list))).toBe(text);
  });

  it('keeps the larger minValues', () => {
    const both = ValueSet.of('In', ['a', 'b'], 2).intersect(ValueSet.of('Exists', [], 3));
    expect(String(both)).toBe('In [a b] minValues 3');
  });

  it('becomes empty when bounds exclude each other, and keeps minValues', () => {
    const none = ValueSet.of('Gt', ['5'], 2).intersect(ValueSet.of('Lt', ['3']));
    expect(String(none)).toBe('DoesNotExist minValues 2');
  });
});
