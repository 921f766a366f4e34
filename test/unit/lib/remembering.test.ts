import { describe, expect, it } from '@jest/globals';
import { remembering } from '../../../src/lib/remembering.ts';

describe('remembering', () => {
  const counting = () => {
    const calls: unknown[][] = [];
    const sum = remembering((object: { readonly value: number }, ...more: readonly number[]) => {
      calls.push([object, ...more]);
      return { sum: more.reduce((total, one) => total + one, object.value) };
    });
    return { calls, sum };
  };

  it('computes only once for an object', () => {
    const { calls, sum } = counting();
    const one = { value: 1 };
    const first = sum(one, 2, Number.NaN);
    expect(first).toEqual({ sum: Number.NaN });
    expect(sum(one, 2, Number.NaN)).toBe(first);
    expect(calls).toHaveLength(1);
  });

  it('distinguishes equal objects', () => {
    const { calls, sum } = counting();
    expect(sum({ value: 1 }, 2)).not.toBe(sum({ value: 1 }, 2));
    expect(calls).toHaveLength(2);
  });

  it.each([
    { what: 'the first of the other arguments', before: [2, 3], after: [4, 3] },
    { what: 'the last of the other arguments', before: [2, 3], after: [2, 4] },
    { what: 'the number of arguments', before: [2, 3], after: [2] },
    { what: 'the number of arguments, upwards', before: [2], after: [2, 3] },
  ])('computes again if $what changes, and if it changes back', ({ before, after }) => {
    const { calls, sum } = counting();
    const one = { value: 1 };
    for (const more of [before, after, after, before])
      expect(sum(one, ...more)).toEqual({ sum: more.reduce((total, each) => total + each, 1) });
    expect(calls).toEqual([before, after, before].map((more) => [one, ...more]));
  });

  it('does not cache a failure', () => {
    let isBroken = true;
    const read = remembering((object: { readonly value: number }) => {
      if (isBroken) throw new Error('broken');
      return object.value;
    });
    const one = { value: 1 };
    expect(() => read(one)).toThrow('broken');
    isBroken = false;
    expect(read(one)).toBe(1);
  });
});
