/** Conditions for reuse of a compiled list of types. */
import { describe, expect, it } from '@jest/globals';
import { compiledTypesOf } from '../../../../src/engine/solver/compiled-types-cache.ts';
import { Dimensions } from '../../../../src/engine/solver/dimensions.ts';
import { instanceType } from '../build.ts';

const listOf = () => [instanceType('small', { cpu: 2, gib: 8 }), instanceType('large', { cpu: 8, gib: 32 })];
const DIMENSIONS = new Dimensions([{ cpu: 1, memory: 1 }]);
const SAME_NAMES = new Dimensions([{ memory: 5, cpu: 3 }]);
const MORE = new Dimensions([{ cpu: 1, memory: 1, 'nvidia.com/gpu': 1 }]);
/** Maximum number of solves per compiled list. */
const MOST_USES = 500;

describe('compiledTypesOf', () => {
  it('returns the same list for equal resources, even in another object', () => {
    const list = listOf();
    const compiled = compiledTypesOf(list, DIMENSIONS, true);
    expect(compiledTypesOf(list, DIMENSIONS, true)).toBe(compiled);
    expect(compiledTypesOf(list, SAME_NAMES, true)).toBe(compiled);
    expect(compiled.types.map(({ name }) => name)).toEqual(['large', 'small']);
  });

  it.each([
    ['another list of the same types', true, DIMENSIONS, true],
    ['other resources', false, MORE, true],
    ['offerings of unavailable reservations', false, DIMENSIONS, false],
  ])('compiles again for %s', (_, isOther, dimensions, sellsReserved) => {
    const list = listOf();
    const compiled = compiledTypesOf(list, DIMENSIONS, true);
    const other = compiledTypesOf(isOther ? [...list] : list, dimensions, sellsReserved);
    expect(other).not.toBe(compiled);
    expect(compiledTypesOf(isOther ? [...list] : list, dimensions, sellsReserved)).not.toBe(compiled);
  });

  it('compiles again before a list caches too much', () => {
    const list = listOf();
    const compiled = compiledTypesOf(list, DIMENSIONS, true);
    for (let use = 1; use < MOST_USES; use += 1) expect(compiledTypesOf(list, DIMENSIONS, true)).toBe(compiled);
    expect(compiledTypesOf(list, DIMENSIONS, true)).not.toBe(compiled);
  });
});
