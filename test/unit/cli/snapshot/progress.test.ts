import { describe, expect, it } from '@jest/globals';
import { progressOn } from '../../../../src/cli/snapshot/progress.ts';

function shown(isTTY: boolean): { readonly lines: string[]; play(...atMs: readonly number[]): void } {
  const lines: string[] = [];
  let now = 0;
  const progress = progressOn({ write: (text) => lines.push(text), isTTY, columns: 20 }, () => now);
  return {
    lines,
    play(...times) {
      for (const atMs of times) {
        now = atMs;
        progress.at(`at ${atMs}, and much more to say`);
      }
      progress.done();
    },
  };
}

describe('progress', () => {
  it('is printed on a terminal after two seconds, ten times a second, and cleared', () => {
    const { lines, play } = shown(true);
    play(0, 1_999, 2_000, 2_050, 2_100);
    const clear = '\r\u001b[2K';
    expect(lines).toEqual([`${clear}at 2000, and much m`, `${clear}at 2100, and much m`, clear]);
  });

  it('is silent in a pipe, and for short commands', () => {
    const pipe = shown(false);
    pipe.play(5_000);
    const soon = shown(true);
    soon.play(0, 1_000);
    expect([...pipe.lines, ...soon.lines]).toEqual([]);
  });
});
