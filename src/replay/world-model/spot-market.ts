/** Spot prices over time: prices from a file, or a random walk around the catalogue's price of each pool. */
import { type Catalogue, chance, randomStream } from '#local/aws';
import { normalOf } from './draws.ts';
import type { SpotModel, SpotPrice, WorldModel } from './world-model.ts';

const HOUR_MS = 3_600_000;
/** Time constant in which a price approaches the mean. */
const REVERSION_HOURS = 120;
/** Share of the distance from the mean that remains after an hour. */
const KEPT = Math.exp(-1 / REVERSION_HOURS);
/** Standard deviation of the distance, relative to the standard deviation of its daily change. */
const SPREAD = 1 / Math.sqrt(2 * (1 - KEPT ** 24));

/** Returns the price of a pool in USD at an hour since the start. */
type Walk = (hour: number) => number;

/**
 * Returns a catalogue with the model's spot prices, which change on the hour, or the same catalogue if the model has no
 * spot prices. A price depends only on the seed, the pool and the hour. Before the start, the prices of the start
 * apply.
 */
export function spotMarket(
  base: Catalogue,
  { spot, seed }: Pick<WorldModel, 'spot' | 'seed'>,
  startMs: number,
): Catalogue {
  if (spot.volatility === 0 && !spot.prices?.length) return base;
  const given = givenPrices(spot.prices ?? []);
  const walks = new Map<string, Walk | undefined>();
  const walkOf = (type: string, zone: string): Walk | undefined => {
    const pool = `${type}/${zone}`;
    const known = walks.get(pool);
    if (known !== undefined || walks.has(pool)) return known;
    const mean = base.spotUsd(type, zone, startMs);
    const prices = given.get(pool);
    const most = base.onDemandUsd(type) ?? Number.POSITIVE_INFINITY;
    const walk =
      prices !== undefined
        ? steps(prices)
        : mean === undefined
          ? undefined
          : randomWalk(mean, most, spot.volatility, Math.floor(chance(seed, 'walk', type, zone) * 2 ** 32));
    walks.set(pool, walk);
    return walk;
  };
  return {
    ...base,
    spotStepMs: HOUR_MS,
    spotUsd: (type, zone, atMs) => walkOf(type, zone)?.(Math.max(0, Math.floor((atMs - startMs) / HOUR_MS))),
  };
}

function givenPrices(prices: NonNullable<SpotModel['prices']>): ReadonlyMap<string, readonly SpotPrice[]> {
  const inOrder = prices.toSorted((a, b) => a.at - b.at);
  return Map.groupBy(inOrder, ({ instanceType, zone }) => `${instanceType}/${zone}`);
}

/**
 * Returns the price at the beginning of an hour. The first price also applies to earlier hours. @param prices in order
 * of time
 */
function steps(prices: readonly SpotPrice[]): Walk {
  const hours: number[] = [];
  let next = 0;
  return (hour) => {
    while (hours.length <= hour) {
      while ((prices[next]?.at ?? Number.POSITIVE_INFINITY) <= hours.length * 3600) next++;
      hours.push(prices[Math.max(0, next - 1)]?.usdPerHour ?? 0);
    }
    return hours[hour] ?? 0;
  };
}

/**
 * Returns a random walk whose logarithm reverts to the logarithm of the mean. The prices are always generated in order
 * of the hours, from a random stream of the pool.
 */
function randomWalk(mean: number, most: number, volatility: number, seed: number): Walk {
  const { next } = randomStream(seed);
  const spread = volatility * SPREAD;
  const change = spread * Math.sqrt(1 - KEPT ** 2);
  const prices: number[] = [];
  let distance = spread * normalOf(next(), next());
  return (hour) => {
    while (prices.length <= hour) {
      // correction for the log-normal distribution, whose mean is above its median
      const usd = mean * Math.exp(distance - spread ** 2 / 2);
      prices.push(Number(Math.min(most, usd).toFixed(6)));
      distance = KEPT * distance + change * normalOf(next(), next());
    }
    return prices[hour] ?? mean;
  };
}
