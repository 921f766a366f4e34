import { describe, expect, it } from '@jest/globals';
import { PriceEstimates } from '../../../../src/aws/pricing/estimates.ts';
import { fallbackPrices } from '../../../../src/aws/pricing/fallback.ts';

const TABLE = {
  'm8a.large': 0.12,
  'm8a.4xlarge': 0.96,
  'm8a.metal-24xl': 5.76,
  'm8g.large': 0.09,
  'm7g.large': 0.08,
  'm7gd.large': 0.1,
  'm5.large': 0.1,
  'm5zn.large': 0.17,
  'c8i.large': 0.1,
  'c8ib.large': 0.15,
  'm8i.large': 0.11,
  'm8id.large': 0.132,
  'p5.48xlarge': 55,
  't3.nano': 0.005,
  't3.large': 0.08,
};

describe('an estimated price', () => {
  const estimates = new PriceEstimates(new Map(Object.entries(TABLE)));

  it.each([
    ['another size of a family', 'm8a.8xlarge', 1.92],
    ['a small size', 't3.micro', 0.01],
    ['bare metal of a known size', 'm8a.metal-48xl', 11.52],
    ['bare metal', 'm8a.metal', 5.76],
    ['a trait of the same line and generation', 'm8gd.large', 0.108],
    ['traits that come together elsewhere', 'm8azn.large', 0.204],
    ['a trait of another line', 'm8ib.large', 0.165],
    ['a trait on top of another', 'm8idb.large', 0.198],
    ['a newer generation: the dearest of the nearest', 'm9x.large', 0.132],
    ['the same traits in another generation', 'm9g.large', 0.09],
    ['an accelerated size', 'p6-b200.48xlarge', 55],
  ])('is, for %s, %s: %p', (_, type, usd) => {
    expect(estimates.of(type)).toBeCloseTo(usd, 6);
    expect(estimates.of(type)).toBe(estimates.of(type));
  });

  it.each([
    ['a line that the table does not have', 'q1.large'],
    ['a size that says nothing', 'm8a.jumbo'],
    ['no name of a type', 'nonsense'],
    ['the name of a property', 'constructor.large'],
  ])('is undefined for %s', (_, type) => {
    expect(estimates.of(type)).toBeUndefined();
  });

  it('is within a tenth of the price for a family with one listed size, if prices are proportional to size', () => {
    const { listed } = fallbackPrices('us-east-1');
    for (const family of ['c5', 'm6i', 'r7a', 'c8g', 'm4', 'r5dn', 'i4i']) {
      const left = [...listed].filter(([type]) => !type.startsWith(`${family}.`) || type === `${family}.xlarge`);
      const found = new PriceEstimates(new Map(left));
      for (const [type, usd] of listed)
        if (type.startsWith(`${family}.`) && !type.endsWith('.metal'))
          expect([type, Math.abs((found.of(type) ?? 0) / usd - 1) < 0.11]).toEqual([type, true]);
    }
  });
});
