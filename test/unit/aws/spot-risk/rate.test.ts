/** The formula for the expected rate of interruptions of a pool and their cost. */
import { describe, expect, it } from '@jest/globals';
import {
  expectedPart,
  interruptionsPerHour,
  type PoolCounts,
  steppedPart,
} from '../../../../src/aws/spot-risk/rate.ts';

const counts = (more: Partial<PoolCounts> = {}): PoolCounts => ({
  interruptions: 0,
  capacityErrors: 0,
  instanceHours: 0,
  ...more,
});

describe('the rate of a pool', () => {
  it('is the mean that AWS reports if there is no history', () => {
    expect(interruptionsPerHour(counts()) * 730).toBeCloseTo(0.05);
  });

  it('approaches the counted rate with time, and is never 0', () => {
    const rates = [10, 1_000, 100_000].map((hours) =>
      interruptionsPerHour(counts({ interruptions: hours / 100, instanceHours: hours })),
    );
    for (const [at, off] of [0.75, 0.025, 0.0003].entries())
      expect(Math.abs((rates[at] ?? 0) / 0.01 - 1)).toBeLessThan(off);
    expect(interruptionsPerHour(counts({ instanceHours: 1e6 }))).toBeGreaterThan(0);
  });

  it('grows by a tenth of an interruption with each launch without capacity', () => {
    const rate = interruptionsPerHour(counts({ capacityErrors: 10, instanceHours: 5 }));
    expect(rate).toBeCloseTo(interruptionsPerHour(counts({ interruptions: 1, instanceHours: 5 })), 12);
  });
});

describe('the expected cost of interruptions', () => {
  it.each([
    ['without history', counts(), 0],
    ['after quiet hours', counts({ instanceHours: 500 }), 0],
    ['after one interruption in a thousand hours', counts({ interruptions: 1, instanceHours: 1_000 }), 0.0009],
    ['after three interruptions in the first hours', counts({ interruptions: 3, instanceHours: 2 }), 0.1154],
    ['after ten interruptions in a day', counts({ interruptions: 10, instanceHours: 24 }), 0.2083],
    ['after a disaster', counts({ interruptions: 1_000 }), 1],
  ])('equals the estimate: %s', (_, given, part) => {
    expect(expectedPart(given, 1)).toBeCloseTo(part, 4);
    expect(expectedPart(given, 0)).toBe(0);
    if (part > 0 && part < 0.5) expect(expectedPart(given, 2)).toBeCloseTo(2 * expectedPart(given, 1), 12);
  });
});

describe('a step', () => {
  it('is a multiple of five hundredths', () => {
    expect([0, 0.03, 0.042, 0.12, 0.21, 1].map((part) => steppedPart(part, 0))).toEqual([0, 0, 0.05, 0.1, 0.2, 1]);
  });

  it('stays stable for a value between two steps', () => {
    let part = steppedPart(0.126, 0);
    const seen = new Set<number>();
    for (let round = 0; round < 20; round++) {
      part = steppedPart(round % 2 === 0 ? 0.124 : 0.126, part);
      seen.add(part);
    }
    expect(seen.size).toBe(1);
  });

  it('decreases to 0', () => {
    let part = 0.3;
    for (let actual = 0.3; actual > 1e-4; actual *= 0.9) part = steppedPart(actual, part);
    expect(part).toBe(0);
  });
});
