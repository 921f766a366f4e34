import { describe, expect, it } from '@jest/globals';
import { PodBatcher } from '../../../../src/controllers/provisioning/triggers.ts';
import { settableClock } from '../../virtualclock.ts';

/** A batcher, and its results in order of time. */
function batching(lookoutMs?: number, stretch?: () => number) {
  const clock = settableClock(0);
  const batcher = new PodBatcher(clock, { idleMs: 1000, maxMs: 10_000, lookoutMs, ...(stretch && { stretch }) });
  const stop = new AbortController();
  const answers: { readonly atMs: number; readonly triggered: boolean }[] = [];
  const wait = (): Promise<void> =>
    batcher.wait(stop.signal).then((triggered) => void answers.push({ atMs: clock.now(), triggered }));
  return { clock, batcher, stop, answers, wait };
}

describe('Batcher', () => {
  it('closes a window after a second without triggers', async () => {
    const { clock, batcher, answers, wait } = batching();
    const waiting = wait();
    await clock.advance(300);
    batcher.trigger('a');
    await clock.advance(600);
    batcher.trigger('b');
    await clock.advance(2000);
    await waiting;
    expect(answers).toEqual([{ atMs: 1900, triggered: true }]);
  });

  it('closes windows later while memory is short', async () => {
    let factor = 2;
    const { clock, batcher, answers, wait } = batching(undefined, () => factor);
    const waiting = wait();
    for (let pod = 0; pod < 45; pod += 1) {
      batcher.trigger(`pod-${pod}`);
      await clock.advance(500);
    }
    await waiting;
    expect(answers).toEqual([{ atMs: 20_000, triggered: true }]);
    factor = 4;
    const next = wait();
    await clock.advance(10_000);
    await next;
    expect(answers.slice(1)).toEqual([{ atMs: 26_000, triggered: true }]);
  });

  it.each([
    [undefined, [{ atMs: 1_000, triggered: false }]],
    [60_000, [{ atMs: 5_500, triggered: true }]],
  ])('waits for the first trigger for the given time (%s)', async (lookoutMs, expected) => {
    const { clock, batcher, answers, wait } = batching(lookoutMs);
    const waiting = wait();
    await clock.advance(4_500);
    batcher.trigger('a');
    await clock.advance(5_000);
    await waiting;
    expect(answers).toEqual(expected);
  });

  it('closes a window with continuous triggers after ten seconds', async () => {
    const { clock, batcher, answers, wait } = batching();
    const waiting = wait();
    for (let pod = 0; pod < 40; pod += 1) {
      batcher.trigger(`pod-${pod}`);
      await clock.advance(500);
    }
    await waiting;
    expect(answers).toEqual([{ atMs: 10_000, triggered: true }]);
  });

  it.each([
    ['back', -3_600_000],
    ['forward', 3_600_000],
  ])('closes that window in time even if the clock is set %s', async (_, ms) => {
    const { clock, batcher, answers, wait } = batching();
    const waiting = wait();
    for (let pod = 0; pod < 40; pod += 1) {
      batcher.trigger(`pod-${pod}`);
      await clock.advance(500);
      if (pod === 5) clock.put(ms);
    }
    await waiting;
    expect(answers).toEqual([{ atMs: 10_000 + ms, triggered: true }]);
  });

  it('does not extend the window for repeated triggers of the same pod', async () => {
    const { clock, batcher, answers, wait } = batching();
    const waiting = wait();
    for (let again = 0; again < 10; again += 1) {
      batcher.trigger('a');
      await clock.advance(300);
    }
    await waiting;
    expect(answers).toEqual([{ atMs: 1000, triggered: true }]);
  });

  it('returns false after a second without triggers', async () => {
    const { clock, answers, wait } = batching();
    const waiting = wait();
    await clock.advance(1500);
    await waiting;
    expect(answers).toEqual([{ atMs: 1000, triggered: false }]);
  });

  it('opens the next window immediately for triggers between two waits', async () => {
    const { clock, batcher, answers, wait } = batching();
    batcher.trigger('a');
    const waiting = wait();
    await clock.advance(1000);
    await waiting;
    batcher.trigger('a');
    const again = wait();
    await clock.advance(1000);
    await again;
    expect(answers).toEqual([
      { atMs: 1000, triggered: true },
      { atMs: 2000, triggered: true },
    ]);
  });

  it('measures the silence from the last trigger, even one before the wait', async () => {
    const { clock, batcher, answers, wait } = batching();
    batcher.trigger('a');
    await clock.advance(700);
    const waiting = wait();
    await clock.advance(300);
    await waiting;
    expect(answers).toEqual([{ atMs: 1000, triggered: true }]);
  });

  it('closes immediately after unsettled NodePools are settled if the last trigger was long ago', async () => {
    const { clock, batcher, answers, wait } = batching();
    batcher.trigger('a');
    const waiting = wait();
    await clock.advance(1000);
    await waiting;
    const again = wait();
    await clock.advance(200);
    batcher.triggerUnsettled('pool-a');
    await clock.advance(50);
    batcher.settled();
    await clock.advance(1);
    await again;
    expect(answers.at(-1)).toEqual({ atMs: 1250, triggered: true });
  });

  it('waits for further triggers even if all NodePools are settled', async () => {
    const { clock, batcher, answers, wait } = batching();
    const waiting = wait();
    batcher.trigger('a');
    await clock.advance(600);
    batcher.settled();
    await clock.advance(2000);
    await waiting;
    expect(answers).toEqual([{ atMs: 1000, triggered: true }]);
  });

  it('waits a second for an unsettled NodePool', async () => {
    const { clock, batcher, answers, wait } = batching();
    const waiting = wait();
    await clock.advance(500);
    batcher.triggerUnsettled('pool-a');
    await clock.advance(2000);
    await waiting;
    expect(answers).toEqual([{ atMs: 1500, triggered: true }]);
  });

  it('returns false immediately when the process stops', async () => {
    const { clock, batcher, stop, answers, wait } = batching();
    batcher.trigger('a');
    const waiting = wait();
    await clock.advance(100);
    stop.abort();
    await waiting;
    expect(answers).toEqual([{ atMs: 100, triggered: false }]);
  });
});
