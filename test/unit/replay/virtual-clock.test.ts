/** Time of a replay: it waits for whoever works, and wakes whoever sleeps in order. */
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
  it('fires timers in the order of time, and those of one moment in the order in which they were set', async () => {
    clock.after(30, tell('third'));
    clock.after(10, tell('first'));
    clock.after(20, tell('second'));
    clock.after(10, tell('first again'));
    clock.after(-5, tell('overdue'));
    await clock.runUntil(START + 100);
    expect(told).toEqual(['overdue at 0', 'first at 10', 'first again at 10', 'second at 20', 'third at 30']);
    expect(clock.now()).toBe(START + 100);
  });

  it('ends the sleep of all under a signal with it, and has it listen for them once', async () => {
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

  it('listens to no signal under which nobody sleeps any more', async () => {
    const { signal } = new AbortController();
    const sleep = clock.sleep(10, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await clock.runUntil(START + 10);
    await sleep;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    void clock.sleep(10, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  });

  it('leaves what is due later, and fires what falls due at the very end', async () => {
    clock.after(100, tell('now'));
    clock.after(101, tell('later'));
    await clock.runUntil(START + 100);
    expect(told).toEqual(['now at 100']);
    expect(clock.waiting).toBe(1);
    await clock.runUntil(START + 101);
    expect(told).toEqual(['now at 100', 'later at 101']);
  });

  it('fires in this moment what a timer sets for this moment', async () => {
    clock.after(10, () => clock.after(0, tell('at once')));
    clock.after(11, tell('later'));
    await clock.runUntil(START + 20);
    expect(told).toEqual(['at once at 10', 'later at 11']);
  });

  it('does not fire what was cancelled, even by a timer of the same moment; cancelling twice counts once', async () => {
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
    // of a timer that has fired there is nothing to cancel
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

  it('moves only once everything is done that needs no time, however many turns it takes', async () => {
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

  it('never fires what is never due', async () => {
    const cancel = clock.after(Number.POSITIVE_INFINITY, tell('never'));
    expect(clock.waiting).toBe(0);
    await clock.runUntil(START + 1e12);
    cancel();
    expect(told).toEqual([]);
  });

  it('shows whole milliseconds, and keeps the parts of one', async () => {
    clock.after(0.6, () => clock.after(0.6, tell('second')));
    await clock.runUntil(START + 0.9);
    expect(clock.now()).toBe(START);
    await clock.runUntil(START + 2);
    expect(told).toEqual(['second at 1']);
  });

  it('sleeps until the time comes or the signal aborts, and not at all when it has', async () => {
    const stop = new AbortController();
    void clock.sleep(10).then(tell('slept'));
    void clock.sleep(1_000, stop.signal).then(tell('woken'));
    clock.after(20, () => stop.abort());
    await clock.runUntil(START + 30);
    await clock.sleep(1_000, stop.signal);
    expect(told).toEqual(['slept at 10', 'woken at 20']);
    expect(clock.waiting).toBe(0);
  });

  it('stands still from the moment that its run is aborted', async () => {
    const stop = new AbortController();
    clock.after(10, () => stop.abort());
    clock.after(20, tell('too late'));
    await clock.runUntil(START + 30, stop.signal);
    expect(clock.now()).toBe(START + 10);
    await clock.runUntil(START + 30, stop.signal);
    expect(clock.now()).toBe(START + 10);
    expect(told).toEqual([]);
  });

  it('does not go back', async () => {
    await clock.runUntil(START + 10);
    await clock.runUntil(START + 5);
    expect(clock.now()).toBe(START + 10);
  });
});
