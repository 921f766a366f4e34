/** Back-off of failed launches, and its end. */
import { describe, expect, it } from '@jest/globals';
import type { NodeClaim } from '#api/objects';
import { LaunchRetries } from '../../../../src/controllers/nodeclaim/launch.ts';
import { virtualClock } from '../../virtualclock.ts';

const UNLIMITED = { qps: 0, burst: 0 };
const claim = (name: string, uid = name): NodeClaim => ({ metadata: { name, uid } }) as NodeClaim;

const retriesAt = (rateLimit = UNLIMITED) => {
  const clock = virtualClock();
  return { clock, retries: new LaunchRetries({ clock }, { baseMs: 1000, maxMs: 60_000 }, rateLimit) };
};

describe('a failed launch', () => {
  it('waits for twice as long each time, and starts again after it is forgotten', async () => {
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

  it('does not delay other claims or a later claim with the same name', () => {
    const { retries } = retriesAt();
    retries.failed(claim('a', 'first'));
    expect(retries.restMs(claim('b'))).toBe(0);
    expect(retries.restMs(claim('a', 'second'))).toBe(0);
  });

  it('shares a rate limit with others: claims beyond the burst are retried one after the other', () => {
    const { retries } = retriesAt({ qps: 1, burst: 2 });
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) retries.failed(claim(name));
    const seconds = names.map((name) => Math.floor(retries.restMs(claim(name)) / 1000));
    expect(seconds).toEqual([1, 1, 1, 2, 3]);
  });

  it('does not wait an additional hour if the clock is set back by an hour', () => {
    const { clock } = retriesAt();
    let shiftMs = 0;
    const jumping = { ...clock, now: () => clock.now() + shiftMs, monotonic: () => clock.now() };
    const retries = new LaunchRetries({ clock: jumping }, { baseMs: 1000, maxMs: 60_000 }, UNLIMITED);
    retries.failed(claim('a'));
    shiftMs = -3_600_000;
    expect(retries.restMs(claim('a'))).toBeLessThanOrEqual(1100);
  });
});
