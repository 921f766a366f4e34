import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { monotonicMs, realClock, since, steadyClock } from '../../../src/lib/clock.ts';

const DAY = 86_400_000;

describe('steadyClock', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('runs faster than real time by its factor', () => {
    const clock = steadyClock(10, 1_000);
    const fired: number[] = [];
    clock.after(500, () => fired.push(clock.now()));
    jest.advanceTimersByTime(49);
    expect(fired).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(fired).toEqual([1_500]);
  });

  it('ignores changes of the time of the machine', () => {
    const clock = steadyClock(1, 1_000);
    jest.setSystemTime(Date.now() + DAY);
    expect(clock.now()).toBe(1_000);
  });

  it('ends a sleep if its signal aborts', async () => {
    const life = new AbortController();
    const asleep = steadyClock().sleep(60_000, life.signal);
    life.abort();
    await expect(asleep).resolves.toBeUndefined();
  });

  it('rejects a factor of 0', () => {
    expect(() => steadyClock(0)).toThrow(/time scale is 0/);
  });
});

describe('steadyClock, with real timers', () => {
  it('never ends a sleep early, although timers may fire a millisecond early', async () => {
    const clock = steadyClock(100, 1_000_000);
    for (const dueMs of [1_000_150, 1_000_800, 1_002_000]) {
      await clock.sleep(dueMs - clock.now());
      expect(clock.now()).toBeGreaterThanOrEqual(dueMs);
    }
    expect(clock.now()).toBeLessThan(1_060_000);
  });
});

describe('monotonicMs', () => {
  it('returns the time of a clock that is never set', () => {
    expect(monotonicMs({ now: () => 5 })).toBe(5);
  });
});

describe('realClock', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it.each([
    ['forward', DAY],
    ['back', -DAY],
  ])('follows the machine if its time is set %s', (_, byMs) => {
    const clock = realClock();
    const before = clock.now();
    jest.setSystemTime(Date.now() + byMs);
    expect(clock.now() - before).toBe(byMs);
  });

  it.each([
    ['forward', DAY],
    ['back', -DAY],
  ])('has a monotonic counter that continues if the time is set %s', (_, byMs) => {
    const clock = realClock();
    const [before, elapsed] = [monotonicMs(clock), since(clock)];
    jest.setSystemTime(Date.now() + byMs);
    expect(monotonicMs(clock)).toBeCloseTo(before, 2);
    jest.advanceTimersByTime(1_000);
    expect(monotonicMs(clock) - before).toBeCloseTo(1_000, 2);
    expect(elapsed.atLeast()).toBeCloseTo(1_000, 2);
    expect(elapsed.atMost()).toBeCloseTo(Math.max(1_000, byMs + 1_000), 2);
  });

  it('has a monotonic counter that never is near zero', () => {
    expect(monotonicMs(realClock())).toBeGreaterThan(Date.now() / 2);
  });

  it('notices within a minute that a deadline passed while the machine slept', () => {
    const fire = jest.fn();
    realClock().after(DAY, fire);
    jest.setSystemTime(Date.now() + DAY);
    jest.advanceTimersByTime(59_999);
    expect(fire).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledTimes(1);
    jest.advanceTimersByTime(2 * DAY);
    expect(fire).toHaveBeenCalledTimes(1);
  });

  it('does not wait longer if the time is set back', async () => {
    const fire = jest.fn();
    realClock().after(10 * 60_000, fire);
    jest.setSystemTime(Date.now() - DAY);
    jest.advanceTimersByTime(10 * 60_000 - 1);
    expect(fire).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledTimes(1);
  });

  it('supports delays that exceed the maximum of a timer', () => {
    let isFired = false;
    realClock().after(60 * DAY, () => {
      isFired = true;
    });
    jest.advanceTimersByTime(60 * DAY - 1);
    expect(isFired).toBe(false);
    jest.advanceTimersByTime(1);
    expect(isFired).toBe(true);
  });

  it('cancels a call, even in the second part of a long delay', () => {
    let isFired = false;
    const cancel = realClock().after(60 * DAY, () => {
      isFired = true;
    });
    jest.advanceTimersByTime(30 * DAY);
    cancel();
    jest.advanceTimersByTime(60 * DAY);
    expect(isFired).toBe(false);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('ends a sleep early if its signal aborts', async () => {
    const stop = new AbortController();
    const slept = realClock().sleep(DAY, stop.signal);
    stop.abort();
    await slept;
    await realClock().sleep(DAY, stop.signal);
    expect(jest.getTimerCount()).toBe(0);
  });
});
