import { describe, expect, it } from '@jest/globals';
import { silent } from '#observe/logger';
import { UnavailableOfferings } from '../../../../src/aws/offerings/unavailable.ts';

const KEY = { instanceType: 'm5.large', zone: 'a', capacityType: 'spot' };

function shortages() {
  let now = 0;
  const unavailable = new UnavailableOfferings(
    { now: () => now, sleep: async () => undefined, after: () => () => undefined },
    silent,
  );
  const forward = (ms: number): void => {
    now += ms;
    unavailable.sweep();
  };
  return { unavailable, forward };
}

describe('UnavailableOfferings', () => {
  it('drops an entry after three minutes and reports the change', () => {
    const { unavailable, forward } = shortages();
    const before = unavailable.sequence('m5.large');
    unavailable.mark('x', KEY);
    const marked = unavailable.sequence('m5.large');
    expect(marked).not.toBe(before);
    expect(unavailable.shortage(KEY)).toBeDefined();
    forward(179_999);
    expect(unavailable.shortage(KEY)).toBeDefined();
    forward(1);
    expect(unavailable.shortage(KEY)).toBeUndefined();
    expect(unavailable.sequence('m5.large')).not.toBe(marked);
  });

  it('counts from the last mark', () => {
    const { unavailable, forward } = shortages();
    unavailable.mark('x', KEY);
    forward(120_000);
    unavailable.mark('x', KEY);
    forward(120_000);
    expect(unavailable.shortage(KEY)).toBeDefined();
  });

  it('doubles the pause of an offering that fails again, up to three minutes, and starts again after three quiet minutes', () => {
    const { unavailable, forward } = shortages();
    const pauses: number[] = [];
    for (let failure = 0; failure < 7; failure++) {
      unavailable.markFailed('x', KEY, { tolerated: 0 });
      let pauseMs = 0;
      while (unavailable.shortage(KEY) !== undefined) {
        forward(10_000);
        pauseMs += 10_000;
      }
      pauses.push(pauseMs);
    }
    expect(pauses).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 180_000, 180_000]);
    forward(180_000);
    unavailable.markFailed('x', KEY, { tolerated: 0 });
    forward(10_000);
    expect(unavailable.shortage(KEY)).toBeUndefined();
  });

  it('does not extend a pause for requests that were sent before it', () => {
    const { unavailable, forward } = shortages();
    for (let failure = 0; failure < 9; failure++) unavailable.markFailed('x', KEY, { tolerated: 0 });
    forward(10_000);
    expect(unavailable.shortage(KEY)).toBeUndefined();
  });

  it('distinguishes types, zones and placement groups', () => {
    const { unavailable } = shortages();
    unavailable.mark('x', { ...KEY, placementGroup: { id: 'pg-1' } });
    expect(unavailable.shortage(KEY)).toBeUndefined();
    expect(unavailable.shortage({ ...KEY, placementGroup: { id: 'pg-1' } })).toBeDefined();
    expect(unavailable.shortage({ ...KEY, zone: 'b', placementGroup: { id: 'pg-1' } })).toBeUndefined();
  });

  it('excludes a whole capacity type, and a zone if all its subnets are full', () => {
    const { unavailable } = shortages();
    unavailable.markCapacityType('x', 'spot');
    expect(unavailable.shortage({ ...KEY, zone: 'c' })).toBeDefined();
    const onDemand = { ...KEY, capacityType: 'on-demand' };
    unavailable.markSubnet('x', 'subnet-1');
    expect(unavailable.shortage(onDemand, ['subnet-1', 'subnet-2'])).toBeUndefined();
    expect(unavailable.shortage(onDemand, ['subnet-1'])).toBeDefined();
    expect(unavailable.shortage(onDemand, [])).toBeUndefined();
  });
});
