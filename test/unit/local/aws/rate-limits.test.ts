import { DescribeSubnetsCommand } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EC2_RATE_LIMITS, type RateLimits, rateLimiter } from '../../../support/ec2-rate-limits.ts';
import { virtualClock } from '../../virtualclock.ts';
import { codeOf, startFixture } from './fixture.ts';

const SMALL: RateLimits = {
  reads: { size: 4, refill: 2 },
  unboundedReads: { size: 2, refill: 1 },
  writes: { size: 3, refill: 1 },
  actions: { CreateTags: { size: 1, refill: 1 } },
  instances: { TerminateInstances: { size: 10, refill: 5 } },
};

const ids = (count: number): object => ({ InstanceIds: Array.from({ length: count }, (_, at) => `i-${at}`) });

describe('a rate limit', () => {
  it.each([
    { action: 'DescribeSubnets', input: { Filters: [] }, burst: 4 },
    { action: 'DescribeSubnets', input: { DryRun: true, Filters: undefined }, burst: 2 },
    { action: 'CreateFleet', input: {}, burst: 3 },
    { action: 'CreateTags', input: {}, burst: 1 },
    { action: 'TerminateInstances', input: ids(4), burst: 2 },
  ])('allows a burst of $burst calls of $action with $input', ({ action, input, burst }) => {
    const admits = rateLimiter(virtualClock(), SMALL);
    const admitted = Array.from({ length: 10 }, () => admits(action, { ...input })).filter(Boolean);
    expect(admitted).toHaveLength(burst);
  });

  it('is counted for each action, and refills with time', async () => {
    const clock = virtualClock();
    const admits = rateLimiter(clock, SMALL);
    while (admits('CreateFleet', {}));
    expect(admits('CreateLaunchTemplate', {})).toBe(true);
    await clock.advance(999);
    expect(admits('CreateFleet', {})).toBe(false);
    await clock.advance(1);
    expect([admits('CreateFleet', {}), admits('CreateFleet', {})]).toEqual([true, false]);
  });

  it('uses no tokens for a rejected call', () => {
    const admits = rateLimiter(virtualClock(), SMALL);
    expect(admits('TerminateInstances', { ...ids(11) })).toBe(false);
    expect(admits('TerminateInstances', { ...ids(10) })).toBe(true);
  });

  it('never allows more than a full bucket and its refill', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 700 }), { maxLength: 60 }), async (pauses) => {
        const clock = virtualClock();
        const started = clock.now();
        const admits = rateLimiter(clock, EC2_RATE_LIMITS);
        let admitted = 0;
        for (const pause of pauses) {
          await clock.advance(pause);
          for (let n = 0; n < 10; n++) if (admits('CreateFleet', {})) admitted++;
          const { size, refill } = EC2_RATE_LIMITS.writes;
          expect(admitted).toBeLessThanOrEqual(size + ((clock.now() - started) / 1000) * refill);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('is disabled by default', async () => {
    for (const [limits, calls] of [
      [undefined, 3],
      [SMALL, 2],
    ] as const) {
      const fixture = await startFixture(limits && { rateLimiter: (clock) => rateLimiter(clock, limits) });
      const answers: string[] = [];
      for (let n = 0; n < 3; n++) {
        const call = fixture.ec2.send(new DescribeSubnetsCommand({}));
        answers.push(
          await call.then(
            () => '',
            () => codeOf(call),
          ),
        );
      }
      expect(answers.filter((code) => code === '')).toHaveLength(calls);
      if (calls < 3) expect(answers).toContain('RequestLimitExceeded');
      await fixture.close();
    }
  });
});
