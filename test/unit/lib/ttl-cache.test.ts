import { beforeEach, describe, expect, it } from '@jest/globals';
import { LoadingCache, TtlCache } from '../../../src/lib/ttl-cache.ts';
import { type SettableClock, settableClock } from '../virtualclock.ts';

const HOUR = 3_600_000;
let clock: SettableClock;

beforeEach(() => {
  clock = settableClock();
});

describe('TtlCache', () => {
  it.each([0, -HOUR, HOUR])('shows an entry for as long as was asked, when the time is put by %d ms', async (ms) => {
    const evicted: string[] = [];
    const cache = new TtlCache<string, number>(clock, 10_000, (key) => evicted.push(key));
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

  it('tells when an entry ends in the time that the clock shows', async () => {
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

describe('LoadingCache', () => {
  it('loads again after its time, also when the time is put back', async () => {
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
