import { describe, expect, it } from '@jest/globals';
import { PodBatcher } from '../../../../src/controllers/provisioning/triggers.ts';
import { settableClock } from '../../virtualclock.ts';

/** A batcher with its answers in the order of time. */
function batching(lookoutMs?: number) {
  const clock = settableClock(0);
  const batcher = new PodBatcher(clock, { idleMs: 1000, maxMs: 10_000, lookoutMs });
  const stop = new AbortController();
  const answers: { readonly atMs: number; readonly triggered: boolean }[] = [];
  const wait = (): Promise<void> =>
    batcher.wait(stop.signal).then((triggered) => void answers.push({ atMs: clock.now(), triggered }));
  return { clock, batcher, stop, answers, wait };
}

describe('Batcher', () => {
  it('closes a window after a second of silence', async () => {
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

  it.each([
    [undefined, [{ atMs: 1_000, triggered: false }]],
    [60_000, [{ atMs: 5_500, triggered: true }]],
  ])('looks out for a first trigger as long as it is told (%s)', async (lookoutMs, expected) => {
    const { clock, batcher, answers, wait } = batching(lookoutMs);
    const waiting = wait();
    await clock.advance(4_500);
    batcher.trigger('a');
    await clock.advance(5_000);
    await waiting;
    expect(answers).toEqual(expected);
  });

  it('closes a window that never falls silent after ten seconds', async () => {
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
  ])('closes it then, too, when the time is put %s meanwhile', async (_, ms) => {
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

  it('is not kept waiting by the same pod over and over', async () => {
    const { clock, batcher, answers, wait } = batching();
    const waiting = wait();
    for (let again = 0; again < 10; again += 1) {
      batcher.trigger('a');
      await clock.advance(300);
    }
    await waiting;
    expect(answers).toEqual([{ atMs: 1000, triggered: true }]);
  });

  it('answers no after a second without triggers', async () => {
    const { clock, answers, wait } = batching();
    const waiting = wait();
    await clock.advance(1500);
    await waiting;
    expect(answers).toEqual([{ atMs: 1000, triggered: false }]);
  });

  it('opens the next window at once for what came between two waits', async () => {
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

  it('counts the silence from the last arrival, that before the wait included', async () => {
    const { clock, batcher, answers, wait } = batching();
    batcher.trigger('a');
    await clock.advance(700);
    const waiting = wait();
    await clock.advance(300);
    await waiting;
    expect(answers).toEqual([{ atMs: 1000, triggered: true }]);
  });

  it('runs at once when what it depends on is settled, and everybody has arrived long ago', async () => {
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

  it('waits for those who still arrive when all else is settled', async () => {
    const { clock, batcher, answers, wait } = batching();
    const waiting = wait();
    batcher.trigger('a');
    await clock.advance(600);
    batcher.settled();
    await clock.advance(2000);
    await waiting;
    expect(answers).toEqual([{ atMs: 1000, triggered: true }]);
  });

  it('waits a second for what is not settled', async () => {
    const { clock, batcher, answers, wait } = batching();
    const waiting = wait();
    await clock.advance(500);
    batcher.triggerUnsettled('pool-a');
    await clock.advance(2000);
    await waiting;
    expect(answers).toEqual([{ atMs: 1500, triggered: true }]);
  });

  it('answers no at once when the process stops', async () => {
    const { clock, batcher, stop, answers, wait } = batching();
    batcher.trigger('a');
    const waiting = wait();
    await clock.advance(100);
    stop.abort();
    await waiting;
    expect(answers).toEqual([{ atMs: 100, triggered: false }]);
  });
});
