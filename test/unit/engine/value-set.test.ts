import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ValueSet } from '../../../src/engine/value-set.ts';

/** Enough values to distinguish any two generated sets: words, and integers around every bound. */
const WORDS = ['a', 'b', 'c'];
const UNIVERSE = [...WORDS, ...Array.from({ length: 12 }, (_, n) => String(n))];

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
  it('allows the common values of two sets after an intersection', () => {
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

  it('has an intersection exactly if both sets share a value', () => {
    fc.assert(
      fc.property(anySet, anySet, (a, b) => {
        const shared = UNIVERSE.some((value) => a.has(value) && b.has(value));
        expect(a.intersects(b)).toBe(b.intersects(a));
        // Two complements share values outside any universe, unless their bounds exclude each other.
        if (!a.complement || !b.complement) expect(a.intersects(b)).toBe(shared);
        else if (a.intersect(b).any() === '') expect(a.intersects(b)).toBe(false);
        else if (shared) expect(a.intersects(b)).toBe(true);
      }),
    );
  });

  it('picks a value that it allows', () => {
    fc.assert(
      fc.property(anySet, (set) => {
        const value = set.any();
        if (value !== '') expect(set.has(value)).toBe(true);
        else expect(UNIVERSE.some((each) => set.has(each))).toBe(false);
      }),
    );
  });

  it('allows an absent label after an intersection if both sets do', () => {
    fc.assert(
      fc.property(anySet, anySet, (a, b) => {
        const both = a.intersect(b);
        expect(both.allowsAbsence).toBe(a.allowsAbsence && b.allowsAbsence);
        expect(both.withMinValues(2).allowsAbsence).toBe(both.allowsAbsence);
        if (!both.allowsAbsence) expect(both.identity).not.toBe(ValueSet.DOES_NOT_EXIST.identity);
      }),
    );
  });

  it.each([
    ['Gt', '9007199254740990', '9007199254740991'],
    ['Gt', '9007199254740991', '9007199254740992'],
    ['Gt', '9007199254740992', '9007199254740993'],
    ['Gte', '9007199254740993', '9007199254740993'],
    ['Gt', '9223372036854775806', '9223372036854775807'],
    ['Gt', '9223372036854775807', ''],
    ['Gte', '+0005', '5'],
    ['Gt', '-9223372036854775808', '0'],
    ['Lt', '-9223372036854775808', ''],
    ['Lt', '0', ''],
    ['Lte', '0', '0'],
    ['Gte', '9223372036854775808', '0'], // needs more than 64 bits and is parsed as 0, like any value that is not an integer
  ] as const)('picks an exact value for %s %s: "%s"', (operator, value, picked) => {
    const set = ValueSet.of(operator, [value]);
    expect(set.any()).toBe(picked);
    if (picked !== '') expect(set.has(picked)).toBe(true);
  });

  it.each([
    ['9007199254740991', '9007199254740992'],
    ['9007199254740992', '9007199254740993'],
    ['9007199254740993', '9007199254740994'],
    ['9223372036854775806', '9223372036854775807'],
  ])('distinguishes %s from %s', (less, more) => {
    expect(ValueSet.of('Gt', [less]).has(less)).toBe(false);
    expect(ValueSet.of('Gt', [less]).has(more)).toBe(true);
    expect(ValueSet.of('Lt', [more]).has(more)).toBe(false);
    expect(ValueSet.of('Lt', [more]).has(less)).toBe(true);
    expect(ValueSet.of('Gte', [less]).identity).not.toBe(ValueSet.of('Gte', [more]).identity);
    expect(ValueSet.of('Gt', [less]).identity).toBe(ValueSet.of('Gte', [more]).identity);
    expect(String(ValueSet.of('Gt', [less]))).toBe(`Exists >=${more}`);
    expect(ValueSet.of('Gte', [more]).intersects(ValueSet.of('Lte', [less]))).toBe(false);
    expect(
      ValueSet.of('Gte', [more])
        .intersect(ValueSet.of('Lte', [more]))
        .any(),
    ).toBe(more);
  });

  it('does not parse values beyond 64 bits or longer than any label as integers', () => {
    const set = ValueSet.of('Gte', ['1']);
    for (const value of ['9223372036854775808', '1'.repeat(64), '0x10', '1e3', ' 7', ''])
      expect(set.has(value)).toBe(false);
  });

  it('picks a value beyond excluded values of any size', () => {
    const pick = (from: string, ...excluded: string[]): string =>
      ValueSet.of('Gt', [from]).intersect(ValueSet.of('NotIn', excluded)).any();
    expect(pick('9007199254740992', '9007199254740992')).toBe('9007199254740993');
    expect(pick('9007199254740990', '9007199254740991', '9007199254740992')).toBe('9007199254740993');
    expect(pick('9223372036854775805', '9223372036854775806', '9223372036854775807')).toBe('');
  });

  it('is empty if all integers within its bounds are excluded', () => {
    const within = ValueSet.of('Gte', ['5']).intersect(ValueSet.of('Lte', ['6']));
    const all = ValueSet.of('NotIn', ['5', '6']);
    expect(within.intersects(all)).toBe(false);
    expect(String(within.intersect(all))).toBe('DoesNotExist');
    expect(within.intersects(ValueSet.of('NotIn', ['5']))).toBe(true);
  });

  it('distinguishes values that contain separators', () => {
    const identities = [['a,b'], ['a', 'b'], ['a', ',b'], ['1:a'], ['a>1']].map((list) => ValueSet.in(list).identity);
    expect(new Set(identities).size).toBe(identities.length);
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

  it('becomes empty if bounds exclude each other, and keeps minValues', () => {
    const none = ValueSet.of('Gt', ['5'], 2).intersect(ValueSet.of('Lt', ['3']));
    expect(String(none)).toBe('DoesNotExist minValues 2');
  });
});
