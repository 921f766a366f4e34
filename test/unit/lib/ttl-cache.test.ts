import { beforeEach, describe, expect, it } from '@jest/globals';
import { LoadingCache, TtlCache } from '../../../src/lib/ttl-cache.ts';
import { type SettableClock, settableClock } from '../virtualclock.ts';

const HOUR = 3_600_000;
let clock: SettableClock;

beforeEach(() => {
  clock = settableClock();
});

describe('TtlCache', () => {
  it.each([0, -HOUR, HOUR])('returns an entry until its expiry if the time is set by %d ms', async (ms) => {
    const evicted: string[] = [];
    const cache = new TtlCache<string, number>(clock, 10_000, { evicted: (key) => evicted.push(key) });
    cache.set('a', 1);
    cache.set('b', 2, 20_000);
    clock.put(ms);
    await clock.advance(9_999);
    expect([cache.get('a'), cache.get('b'), cache.has('a'), cache.keys()]).toEqual([1, 2, true, ['a', 'b']]);
    await clock.advance(1);
    expect([cache.get('a'), cache.get('b'), cache.has('a'), cache.keys()]).toEqual([undefined, 2, false, ['b']]);
    cache.sweep();
    expect([evicted, cache.size]).toEqual([['a'], 1]);
  });

  it('returns the expiry of an entry in the time of the clock', async () => {
    const cache = new TtlCache<string, number>(clock, 10_000);
    cache.set('a', 1);
    expect(cache.expiresMs('a')).toBe(clock.now() + 10_000);
    await clock.advance(4_000);
    clock.put(-HOUR);
    expect(cache.expiresMs('a')).toBe(clock.now() + 6_000);
    await clock.advance(6_000);
    expect(cache.expiresMs('a')).toBeUndefined();
  });
});

describe('a TtlCache without calls of sweep', () => {
  it('removes an entry within a minute of its expiry', async () => {
    const cache = new TtlCache<string, true>(clock, 120_000);
    for (let at = 0; at < 1_000; at++) {
      cache.set(`key-${at}`, true);
      await clock.advance(60_000);
    }
    expect(cache.size).toBeLessThanOrEqual(4);
  });

  it('removes the entry that was set the longest ago if there are too many entries', () => {
    const evicted: string[] = [];
    const cache = new TtlCache<string, number>(clock, 10_000, { most: 2, evicted: (key) => evicted.push(key) });
    for (const key of ['a', 'b', 'a', 'c']) cache.set(key, 1);
    expect([cache.keys(), evicted]).toEqual([['a', 'c'], ['b']]);
  });
});

describe('LoadingCache', () => {
  it('loads again after the expiry, even if the time is set back', async () => {
    let loads = 0;
    const cache = new LoadingCache<number>(clock, 10_000);
    const get = (): Promise<number> => cache.get('key', async () => ++loads);
    expect(await get()).toBe(1);
    clock.put(-HOUR);
    await clock.advance(9_999);
    expect(await get()).toBe(1);
    await clock.advance(1);
    expect(await get()).toBe(2);
  });
});
