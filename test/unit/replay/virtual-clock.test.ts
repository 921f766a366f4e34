/** The clock of a replay, which waits for all work and runs timers in order. */
import { getEventListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '../../../src/replay/virtual-clock.ts';

const START = 1_000_000;
let clock: VirtualClock;
let told: string[];
beforeEach(() => {
  clock = new VirtualClock(START);
  told = [];
});

const tell = (what: string) => (): void => void told.push(`${what} at ${clock.now() - START}`);

describe('VirtualClock', () => {
  it('runs timers in order of time, and timers of the same time in order of creation', async () => {
    clock.after(30, tell('third'));
    clock.after(10, tell('first'));
    clock.after(20, tell('second'));
    clock.after(10, tell('first again'));
    clock.after(-5, tell('overdue'));
    await clock.runUntil(START + 100);
    expect(told).toEqual(['overdue at 0', 'first at 10', 'first again at 10', 'second at 20', 'third at 30']);
    expect(clock.now()).toBe(START + 100);
  });

  it('ends all sleeps when their signal aborts, with a single listener', async () => {
    const stop = new AbortController();
    const sleeps = Array.from({ length: 100 }, (_, index) => clock.sleep(10 + index, stop.signal));
    await clock.runUntil(START + 10);
    await sleeps[0];
    expect(clock.waiting).toBe(99);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    stop.abort();
    await Promise.all(sleeps);
    expect(clock.waiting).toBe(0);
    await clock.sleep(1, stop.signal);
  });

  it('has no listener on a signal without sleeps', async () => {
    const { signal } = new AbortController();
    const sleep = clock.sleep(10, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await clock.runUntil(START + 10);
    await sleep;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    void clock.sleep(10, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  });

  it('keeps later timers, and runs timers that are due at the exact end', async () => {
    clock.after(100, tell('now'));
    clock.after(101, tell('later'));
    await clock.runUntil(START + 100);
    expect(told).toEqual(['now at 100']);
    expect(clock.waiting).toBe(1);
    await clock.runUntil(START + 101);
    expect(told).toEqual(['now at 100', 'later at 101']);
  });

  it('runs a timer immediately that another timer sets for the same time', async () => {
    clock.after(10, () => clock.after(0, tell('at once')));
    clock.after(11, tell('later'));
    await clock.runUntil(START + 20);
    expect(told).toEqual(['at once at 10', 'later at 11']);
  });

  it('does not run a cancelled timer, even if a timer of the same time cancels it, and counts repeated cancels once', async () => {
    const cancel = clock.after(10, tell('cancelled'));
    clock.after(10, tell('kept'));
    cancel();
    cancel();
    expect(clock.waiting).toBe(1);
    let cancelOther = (): void => {};
    clock.after(20, () => cancelOther());
    cancelOther = clock.after(20, tell('cancelled in time'));
    await clock.runUntil(START + 30);
    expect(told).toEqual(['kept at 10']);
    // A timer that has run cannot be cancelled.
    cancelOther();
    expect(clock.waiting).toBe(0);
  });

  it('keeps thousands of timers in order while most of them are cancelled', async () => {
    const dueMs = (index: number): number => (index * 7919) % 10_007;
    const cancels = Array.from({ length: 5_000 }, (_, index) => clock.after(dueMs(index), tell(String(index))));
    for (const [index, cancel] of cancels.entries()) if (index % 10 !== 0) cancel();
    expect(clock.waiting).toBe(500);
    await clock.runUntil(START + 10_007);
    const left = cancels.map((_, index) => index).filter((index) => index % 10 === 0);
    const wanted = left.sort((a, b) => dueMs(a) - dueMs(b)).map((index) => `${index} at ${dueMs(index)}`);
    expect(told).toEqual(wanted);
    expect(clock.waiting).toBe(0);
  });

  it('advances only after all pending promises are settled, however many turns that takes', async () => {
    clock.after(10, async () => {
      for (let turn = 0; turn < 20; turn += 1) await nextTurn();
      await readFile(import.meta.filename);
      await nextTurn();
      tell('worked')();
    });
    clock.after(11, tell('later'));
    await clock.runUntil(START + 20);
    expect(told).toEqual(['worked at 10', 'later at 11']);
  });

  it('never runs a timer with an infinite delay', async () => {
    const cancel = clock.after(Number.POSITIVE_INFINITY, tell('never'));
    expect(clock.waiting).toBe(0);
    await clock.runUntil(START + 1e12);
    cancel();
    expect(told).toEqual([]);
  });

  it('returns whole milliseconds, and keeps fractions', async () => {
    clock.after(0.6, () => clock.after(0.6, tell('second')));
    await clock.runUntil(START + 0.9);
    expect(clock.now()).toBe(START);
    await clock.runUntil(START + 2);
    expect(told).toEqual(['second at 1']);
  });

  it('sleeps until the time is reached or the signal aborts, and does not sleep if the signal is aborted', async () => {
    const stop = new AbortController();
    void clock.sleep(10).then(tell('slept'));
    void clock.sleep(1_000, stop.signal).then(tell('woken'));
    clock.after(20, () => stop.abort());
    await clock.runUntil(START + 30);
    await clock.sleep(1_000, stop.signal);
    expect(told).toEqual(['slept at 10', 'woken at 20']);
    expect(clock.waiting).toBe(0);
  });

  it('stops when its run is aborted', async () => {
    const stop = new AbortController();
    clock.after(10, () => stop.abort());
    clock.after(20, tell('too late'));
    await clock.runUntil(START + 30, stop.signal);
    expect(clock.now()).toBe(START + 10);
    await clock.runUntil(START + 30, stop.signal);
    expect(clock.now()).toBe(START + 10);
    expect(told).toEqual([]);
  });

  it('does not go backwards', async () => {
    await clock.runUntil(START + 10);
    await clock.runUntil(START + 5);
    expect(clock.now()).toBe(START + 10);
  });
});
