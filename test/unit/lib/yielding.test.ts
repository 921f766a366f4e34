import { describe, expect, it } from '@jest/globals';
import { inSlices } from '../../../src/lib/yielding.ts';

/** Clock that advances by more than a slice with each reading. */
function slowClock() {
  let nowMs = 0;
  return { now: () => nowMs, monotonic: () => (nowMs += 10) };
}

describe('inSlices', () => {
  it('lets other work run between slices, regardless of the number of tasks', async () => {
    const log: string[] = [];
    const steps = function* (name: string): Generator<undefined, string> {
      for (let at = 0; at < 3; at++) {
        log.push(name);
        yield;
      }
      return name;
    };
    let next = setImmediate(function turn() {
      log.push('|');
      next = setImmediate(turn);
    });
    expect(await Promise.all([inSlices(steps('a'), slowClock()), inSlices(steps('b'), slowClock())])).toEqual([
      'a',
      'b',
    ]);
    clearImmediate(next);
    const text = log.join('');
    // no turn has two steps, and one task follows the other
    expect(text).not.toMatch(/[ab][ab]/);
    expect(text.replaceAll('|', '')).toBe('aaabbb');
  });

  it('continues after a task that failed', async () => {
    // biome-ignore lint/correctness/useYield: the function fails before a yield
    const failing = function* (): Generator<undefined, never> {
      throw new Error('no');
    };
    const after = function* (): Generator<undefined, number> {
      yield;
      return 1;
    };
    const [failed, done] = await Promise.allSettled([inSlices(failing(), slowClock()), inSlices(after(), slowClock())]);
    expect(failed.status).toBe('rejected');
    expect(done).toEqual({ status: 'fulfilled', value: 1 });
  });
});
