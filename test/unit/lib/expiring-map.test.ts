import { describe, expect, it } from '@jest/globals';
import { ExpiringMap } from '../../../src/lib/expiring-map.ts';
import { virtualClock } from '../virtualclock.ts';

const MINUTE_MS = 60_000;

describe('a map whose entries end', () => {
  it('has each for as long as it was set', async () => {
    const clock = virtualClock();
    const map = new ExpiringMap<number>(clock, 10);
    map.set('short', 1, 1_000);
    map.set('long', 2, 2_000);
    await clock.advance(1_000);
    expect([map.get('short'), map.get('long'), map.get('never')]).toEqual([undefined, 2, undefined]);
    map.set('short', 3, 1_000);
    expect(map.get('short')).toBe(3);
  });

  it('holds no entries that ended more than a minute ago', async () => {
    const clock = virtualClock();
    const map = new ExpiringMap<true>(clock, 10_000);
    for (let at = 0; at < 1_000; at++) {
      map.set(`key-${at}`, true, 2 * MINUTE_MS);
      await clock.advance(MINUTE_MS);
    }
    expect(map.size).toBeLessThanOrEqual(4);
  });

  it('holds no more than it may: the oldest go, and one that is set anew is new', () => {
    const map = new ExpiringMap<number>(virtualClock(), 2);
    for (const key of ['a', 'b', 'a', 'c']) map.set(key, 1, MINUTE_MS);
    expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([1, undefined, 1]);
    expect(map.size).toBe(2);
  });
});
