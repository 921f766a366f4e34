/** Spot prices over time: those that are given, else a walk around the catalogue's price of each pool. */
import type { Catalogue } from '../../local/aws/options.ts';
import { chance, randomStream } from '../../local/aws/random.ts';
import { normalOf } from './draws.ts';
import type { SpotModel, SpotPrice, WorldModel } from './world-model.ts';

const HOUR_MS = 3_600_000;
/** How long a price takes to lose most of its distance from the mean. */
const REVERSION_HOURS = 120;
/** Of the distance from the mean, what is left after an hour. */
const KEPT = Math.exp(-1 / REVERSION_HOURS);
/** Standard deviation of the distance itself, where that of its change in a day is 1. */
const SPREAD = 1 / Math.sqrt(2 * (1 - KEPT ** 24));

/** Dollars of a pool by the hour since the start. */
type Walk = (hour: number) => number;

/**
 * The catalogue with the model's spot prices, which change on the hour; the same catalogue when the model has none. What a
 * price is depends on the seed, the pool and the hour alone. Before the start prices are those of the start.
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

/** The price in force when an hour begins; the first one held before, too. In the order of time. */
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
 * The logarithm reverts to that of the mean. Hours are made in their order, however they are asked for, from a stream of
 * the pool's own.
 */
function randomWalk(mean: number, most: number, volatility: number, seed: number): Walk {
  const { next } = randomStream(seed);
  const spread = volatility * SPREAD;
  const change = spread * Math.sqrt(1 - KEPT ** 2);
  const prices: number[] = [];
  let distance = spread * normalOf(next(), next());
  return (hour) => {
    while (prices.length <= hour) {
      // of a log-normal value, whose mean is above its median
      const usd = mean * Math.exp(distance - spread ** 2 / 2);
      prices.push(Number(Math.min(most, usd).toFixed(6)));
      distance = KEPT * distance + change * normalOf(next(), next());
    }
    return prices[hour] ?? mean;
  };
}
