import { describe, expect, it } from '@jest/globals';
import { standardZones } from '#local/aws';
import { ruleBuiltCatalogue } from '#local/machines';
import { spotMarket } from '../../../../src/replay/world-model/spot-market.ts';
import { DEFAULT_WORLD, type SpotModel } from '../../../../src/replay/world-model/world-model.ts';

const START = Date.UTC(2026, 7, 10);
const HOUR = 3_600_000;
const DAYS = 60;
const base = ruleBuiltCatalogue(standardZones('us-west-2'), 1);

const market = (spot: Partial<SpotModel>, seed = 1) =>
  spotMarket(base, { seed, spot: { ...DEFAULT_WORLD.spot, ...spot } }, START);

/** Pools of many types, so that a single random walk has little effect. */
const pools = base.types
  .flatMap(({ InstanceType: type = '' }) => base.zonesOf(type).map((zone) => ({ type, zone })))
  .filter(({ type, zone }) => base.spotUsd(type, zone, START) !== undefined)
  .filter((_, at) => at % 7 === 0);

const deviation = (values: readonly number[]): number => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
};

describe('a spot price', () => {
  it('is the catalogue price without volatility', () => {
    expect(market({ volatility: 0 })).toBe(base);
    expect(market({ volatility: 0, prices: [] })).toBe(base);
  });

  it.each([0.03, 0.1])('changes by the daily volatility: %d', (volatility) => {
    const { spotUsd } = market({ volatility });
    const changes = pools.flatMap(({ type, zone }) =>
      Array.from({ length: DAYS }, (_, day) => {
        const at = (hours: number): number => Math.log(spotUsd(type, zone, START + (24 * day + hours) * HOUR) ?? 0);
        return at(24) - at(0);
      }),
    );
    expect(changes.length).toBeGreaterThan(5_000);
    expect(deviation(changes) / volatility).toBeCloseTo(1, 1);
  });

  it('stays near the catalogue price, and never exceeds the on-demand price', () => {
    const { spotUsd } = market({ volatility: 0.1 });
    const ratios = pools.map(({ type, zone }) => {
      const mean = base.spotUsd(type, zone, START) ?? 0;
      const prices = Array.from({ length: DAYS }, (_, day) => spotUsd(type, zone, START + day * 24 * HOUR) ?? 0);
      expect(Math.max(...prices)).toBeLessThanOrEqual(base.onDemandUsd(type) ?? 0);
      return prices.reduce((sum, usd) => sum + usd, 0) / DAYS / mean;
    });
    expect(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length).toBeCloseTo(1, 1);
  });

  it('depends on seed, pool and hour, but not on earlier calls', () => {
    const forwards = market({});
    const backwards = market({});
    const hours = Array.from({ length: 100 }, (_, hour) => START + hour * HOUR);
    const some = pools.slice(0, 20);
    const a = some.map(({ type, zone }) => hours.map((at) => forwards.spotUsd(type, zone, at)));
    const b = some
      .toReversed()
      .map(({ type, zone }) => hours.toReversed().map((at) => backwards.spotUsd(type, zone, at)));
    expect(b.map((prices) => prices.toReversed()).toReversed()).toEqual(a);
    const [pool = { type: '', zone: '' }] = some;
    const { type, zone } = pool;
    expect(forwards.spotUsd(type, zone, START + 1)).toBe(forwards.spotUsd(type, zone, START + HOUR - 1));
    expect(forwards.spotUsd(type, zone, START)).not.toBe(forwards.spotUsd(type, zone, START + HOUR));
    expect(forwards.spotUsd(type, zone, START - 50 * HOUR)).toBe(forwards.spotUsd(type, zone, START));
    expect(market({}, 2).spotUsd(type, zone, START)).not.toBe(forwards.spotUsd(type, zone, START));
  });

  it('follows the given prices, and is random for other pools', () => {
    const price = (at: number, usdPerHour: number) => ({
      at,
      instanceType: 'm5.large',
      zone: 'us-west-2a',
      usdPerHour,
    });
    const { spotUsd } = market({ prices: [price(7_200, 0.06), price(3_600, 0.04), price(9_000, 0.07)] });
    const by = (hour: number) => spotUsd('m5.large', 'us-west-2a', START + hour * HOUR);
    expect([by(-1), by(0), by(1), by(2), by(2.6), by(3), by(500)]).toEqual([0.04, 0.04, 0.04, 0.06, 0.06, 0.07, 0.07]);
    expect(spotUsd('m5.large', 'us-west-2b', START)).toBe(market({}).spotUsd('m5.large', 'us-west-2b', START));
    expect(spotUsd('m5.large', 'nowhere', START)).toBeUndefined();
  });
});
