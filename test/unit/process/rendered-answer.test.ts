import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inSteps, jsonInSteps, type Rendered, sharedAnswer } from '../../../src/process/rendered-answer.ts';

const textOf = ({ pieces, isGzip }: Rendered): string => {
  const bytes = Buffer.concat(pieces);
  return (isGzip ? gunzipSync(bytes) : bytes).toString();
};
const answered = (text: string): Rendered => ({ pieces: [Buffer.from(text)], isGzip: false, length: text.length });

describe('jsonInSteps', () => {
  it('returns the same text as JSON.stringify', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        expect(textOf(await jsonInSteps(value))).toBe(JSON.stringify(value));
      }),
    );
  });

  it('writes an iterable as a list, omits undefined fields, and calls toJSON', async () => {
    const value = { types: new Set(['a', 'b']), none: undefined, at: new Date(0) };
    expect(textOf(await jsonInSteps(value))).toBe('{"types":["a","b"],"at":"1970-01-01T00:00:00.000Z"}');
  });

  it('lets other work run between its steps', async () => {
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

describe('inSteps', () => {
  const PART = `${'é'.repeat(40_000)}\n`;

  it('keeps a long text compressed, with the length of the uncompressed text', async () => {
    const rendered = await inSteps(Array.from({ length: 100 }, () => PART));
    expect(textOf(rendered)).toBe(PART.repeat(100));
    expect(rendered).toMatchObject({ isGzip: true, length: Buffer.byteLength(PART) * 100 });
    expect(rendered.pieces.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(rendered.length / 20);
  });

  it('reads parts as fast as it compresses them, so that few parts are in memory, even if no time passes', async () => {
    let [longest, read] = [0, 0];
    const turn = (): void => {
      read = 0;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    const parts = function* (): Generator<string> {
      for (let part = 0; part < 300; part += 1) {
        read += 1;
        longest = Math.max(longest, read);
        yield PART;
      }
    };
    await inSteps(parts(), () => 0);
    clearImmediate(next);
    expect(longest).toBeLessThanOrEqual(6);
  });

  it('accepts an empty text, and does not compress a single piece', async () => {
    expect(await inSteps([])).toEqual({ pieces: [], isGzip: false, length: 0 });
    expect(await inSteps(['', 'é', '\n'])).toEqual({ pieces: [Buffer.from('é\n')], isGzip: false, length: 3 });
  });

  it('rejects if the parts throw an error', async () => {
    const parts = function* (): Generator<string> {
      yield* [PART, PART, PART, PART];
      throw new Error('gone');
    };
    await expect(inSteps(parts())).rejects.toThrow('gone');
  });
});

describe('sharedAnswer', () => {
  it('renders once for concurrent calls, and keeps the response for ten times the rendering time', async () => {
    let nowMs = 0;
    let made = 0;
    const ask = sharedAnswer(
      async () => {
        made += 1;
        nowMs += 650;
        return answered(`${made}`);
      },
      () => nowMs,
      () => nowMs,
    );
    const answers = await Promise.all(Array.from({ length: 25 }, ask));
    expect(new Set(answers.map(textOf))).toEqual(new Set(['1']));
    nowMs += 6_400;
    expect(textOf(await ask())).toBe('1');
    nowMs += 200;
    expect(textOf(await ask())).toBe('2');
  });

  it('keeps the response for ten times the real rendering time if virtual time runs faster', async () => {
    let [virtualMs, realMs, made] = [0, 0, 0];
    const ask = sharedAnswer(
      async () => {
        made += 1;
        realMs += 10;
        virtualMs += 4_000;
        return answered(`${made}`);
      },
      () => virtualMs,
      () => realMs,
    );
    await ask();
    virtualMs += 99;
    expect(textOf(await ask())).toBe('1');
    virtualMs += 2;
    expect(textOf(await ask())).toBe('2');
  });

  it('does not keep a failure', async () => {
    let fails = true;
    const ask = sharedAnswer(async () => {
      if (fails) throw new Error('stands by');
      return answered('leads');
    });
    await expect(Promise.all([ask(), ask()])).rejects.toThrow('stands by');
    fails = false;
    expect(textOf(await ask())).toBe('leads');
  });
});
