/** How long a claim rests whose launch failed, and when that is forgotten. */
import { describe, expect, it } from '@jest/globals';
import type { NodeClaim } from '../../../../src/api/nodeclaim.ts';
import { LaunchRetries } from '../../../../src/controllers/nodeclaim/launch.ts';
import { virtualClock } from '../../virtualclock.ts';

const UNLIMITED = { qps: 0, burst: 0 };
const claim = (name: string, uid = name): NodeClaim => ({ metadata: { name, uid } }) as NodeClaim;

const retriesAt = (rateLimit = UNLIMITED) => {
  const clock = virtualClock();
  return { clock, retries: new LaunchRetries({ clock }, { baseMs: 1000, maxMs: 60_000 }, rateLimit) };
};

describe('launches that failed', () => {
  it('rest for twice as long each time, and begin anew once forgotten', async () => {
    const { clock, retries } = retriesAt();
    expect(retries.restMs(claim('a'))).toBe(0);
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      retries.failed(claim('a'));
      const restMs = retries.restMs(claim('a'));
      expect(restMs).toBeGreaterThanOrEqual(seconds * 1000);
      expect(restMs).toBeLessThanOrEqual(seconds * 1100);
      await clock.advance(Math.ceil(restMs));
      expect(retries.restMs(claim('a'))).toBeLessThanOrEqual(0);
    }
    retries.failed(claim('a'));
    retries.forget('a');
    expect(retries.restMs(claim('a'))).toBe(0);
    retries.failed(claim('a'));
    expect(retries.restMs(claim('a'))).toBeLessThanOrEqual(1100);
  });

  it('hold back neither other claims nor a later one of the same name', () => {
    const { retries } = retriesAt();
    retries.failed(claim('a', 'first'));
    expect(retries.restMs(claim('b'))).toBe(0);
    expect(retries.restMs(claim('a', 'second'))).toBe(0);
  });

  it('share a rate: what is over the burst comes back one after the other', () => {
    const { retries } = retriesAt({ qps: 1, burst: 2 });
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) retries.failed(claim(name));
    const seconds = names.map((name) => Math.floor(retries.restMs(claim(name)) / 1000));
    expect(seconds).toEqual([1, 1, 1, 2, 3]);
  });

  it('do not rest for an hour more when the time is put back by that', () => {
    const { clock } = retriesAt();
    let shiftMs = 0;
    const jumping = { ...clock, now: () => clock.now() + shiftMs, monotonic: () => clock.now() };
    const retries = new LaunchRetries({ clock: jumping }, { baseMs: 1000, maxMs: 60_000 }, UNLIMITED);
    retries.failed(claim('a'));
    shiftMs = -3_600_000;
    expect(retries.restMs(claim('a'))).toBeLessThanOrEqual(1100);
  });
});
