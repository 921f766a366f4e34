import { describe, expect, it } from '@jest/globals';
import { sharedCheck } from '../../../src/process/shared-check.ts';

const { signal } = new AbortController();

describe('sharedCheck', () => {
  it('runs once for concurrent callers', async () => {
    let runs = 0;
    const ended = Promise.withResolvers<void>();
    const check = sharedCheck(() => {
      runs += 1;
      return ended.promise;
    });
    const waiting = Array.from({ length: 50 }, () => check(signal));
    ended.resolve();
    await Promise.all(waiting);
    expect(runs).toBe(1);
    await check(signal);
    expect(runs).toBe(2);
  });

  it('keeps a success for a while, and a failure for a shorter time', async () => {
    let nowMs = 0;
    let runs = 0;
    let fails = false;
    const check = sharedCheck(
      () => {
        runs += 1;
        if (fails) throw new Error('not served');
      },
      { passMs: 60_000, failMs: 1_000, now: () => nowMs },
    );
    for (; nowMs < 60_000; nowMs += 10_000) await check(signal);
    expect(runs).toBe(1);
    fails = true;
    for (let times = 0; times < 3; times += 1) await expect(check(signal)).rejects.toThrow('not served');
    expect(runs).toBe(2);
    fails = false;
    nowMs += 1_000;
    await check(signal);
    expect(runs).toBe(3);
  });

  it('aborts when the last caller stops waiting, and starts again for the next caller', async () => {
    const signals: AbortSignal[] = [];
    const check = sharedCheck(
      (given) =>
        new Promise<void>((_, reject) => {
          signals.push(given);
          given.addEventListener('abort', () => reject(new Error('nobody waits')));
        }),
      { failMs: 60_000 },
    );
    const [one, other] = [new AbortController(), new AbortController()];
    const waiting = [check(one.signal), check(other.signal)];
    one.abort();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    other.abort();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect((await Promise.allSettled(waiting)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const next = new AbortController();
    const again = check(next.signal);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    next.abort();
    await expect(again).rejects.toThrow('nobody waits');
  });

  it('fails if the check does not end', async () => {
    const check = sharedCheck(() => new Promise(() => undefined), { longestMs: 20 });
    await expect(check(signal)).rejects.toThrow('the check did not end within 0.02 s');
  });
});
