import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { jsonInSteps, type Pieces, sharedAnswer } from '../../../src/observe/rendered-answer.ts';

const textOf = (pieces: Pieces): string => Buffer.concat(pieces).toString();

describe('JSON in steps', () => {
  it('is that of JSON.stringify', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        expect(textOf(await jsonInSteps(value))).toBe(JSON.stringify(value));
      }),
    );
  });

  it('writes an iterable as a list, leaves out what is undefined, and minds toJSON', async () => {
    const value = { types: new Set(['a', 'b']), none: undefined, at: new Date(0) };
    expect(textOf(await jsonInSteps(value))).toBe('{"types":["a","b"],"at":"1970-01-01T00:00:00.000Z"}');
  });

  it('lets others have their turn while it works', async () => {
    let turns = 0;
    const counting = setInterval(() => {
      turns += 1;
    }, 1);
    const slow = function* (): Generator<number> {
      for (let item = 0; item < 40; item += 1) {
        const endMs = performance.now() + 2;
        while (performance.now() < endMs);
        yield item;
      }
    };
    const text = textOf(await jsonInSteps({ items: { [Symbol.iterator]: slow } }));
    clearInterval(counting);
    expect(JSON.parse(text)).toEqual({ items: Array.from({ length: 40 }, (_, item) => item) });
    expect(turns).toBeGreaterThan(5);
  });
});

describe('an answer that is shared', () => {
  it('is made once for all who ask meanwhile, and kept ten times as long as that took', async () => {
    let nowMs = 0;
    let made = 0;
    const ask = sharedAnswer(
      async () => {
        made += 1;
        nowMs += 650;
        return [Buffer.from(`${made}`)];
      },
      () => nowMs,
    );
    const answers = await Promise.all(Array.from({ length: 25 }, ask));
    expect(new Set(answers.map(String))).toEqual(new Set(['1']));
    nowMs += 6_400;
    expect(String(await ask())).toBe('1');
    nowMs += 200;
    expect(String(await ask())).toBe('2');
  });

  it('is not kept when making it failed', async () => {
    let fails = true;
    const ask = sharedAnswer(async () => {
      if (fails) throw new Error('stands by');
      return [Buffer.from('leads')];
    });
    await expect(Promise.all([ask(), ask()])).rejects.toThrow('stands by');
    fails = false;
    expect(String(await ask())).toBe('leads');
  });
});
