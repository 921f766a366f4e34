import { describe, expect, it } from '@jest/globals';
import { confirmTypes } from '../../../../src/aws/instancetypes/discovery.ts';

const mapOf = (...names: readonly string[]): ReadonlyMap<string, number> => new Map(names.map((name) => [name, 1]));

describe('the list of EC2', () => {
  it.each([
    { known: [], answers: [['a']], is: ['a'] },
    { known: ['a'], answers: [['a', 'b']], is: ['a', 'b'] },
    { known: ['a', 'b'], answers: [['a'], ['a', 'b']], is: ['a', 'b'] },
    { known: ['a', 'b'], answers: [['b'], ['a']], is: ['a', 'b'] },
    { known: ['a', 'b'], answers: [['a'], ['a']], is: ['a'] },
    { known: ['a'], answers: [[], ['a']], is: ['a'] },
  ])('is $is after $known with responses $answers', async ({ known, answers, is }) => {
    const left = [...answers];
    const found = await confirmTypes(mapOf(...known), async () => mapOf(...(left.shift() ?? [])));
    expect([...found.keys()]).toEqual(is);
    expect(left).toEqual([]);
  });

  it('is kept if EC2 returns an empty list', async () => {
    await expect(confirmTypes(mapOf('a'), async () => mapOf())).rejects.toThrow('EC2 returned no instance types');
  });
});
