/** Schema of the file that describes the world of a replay. Every field is optional. */
import { Type } from 'typebox';
import { type Declared, integer, list, object, optional, text, time } from '../../api/schema/declare.ts';

/** Maximum number of prices. More prices belong in a separate file, which is read faster. */
const MOST_PRICES = 100_000;
const LONGEST_SECONDS = 86_400;
const DEAREST_USD = 10_000;

const seconds = (description: string) => Type.Number({ description, minimum: 0, maximum: LONGEST_SECONDS });
const share = (description: string) => Type.Number({ description, minimum: 0, maximum: 1 });
/** Schema of a share below one, because a process with a share of one would never end. */
const shareBelowOne = (description: string) => Type.Number({ description, minimum: 0, maximum: 0.99 });

const PRICE = object({
  at: Type.Number({ description: 'Seconds since the start of the trace.', minimum: 0, maximum: 1e9 }),
  instanceType: text({ minLength: 1, maxLength: 64 }),
  zone: text({ minLength: 1, maxLength: 64 }),
  usdPerHour: Type.Number({ minimum: 0.000_001, maximum: DEAREST_USD }),
});

const SPOT = object({
  prices: optional(list(PRICE, { description: 'Hourly prices.', maxItems: MOST_PRICES })),
  pricesFrom: optional(
    object({
      file: text({ description: 'File with the output of aws ec2 describe-spot-price-history.', minLength: 1 }),
      start: optional(time({ description: 'Time in the price history that corresponds to the start of the trace.' })),
    }),
  ),
  volatility: optional(
    Type.Number({
      description: 'Standard deviation of the daily change of a price, as a fraction.',
      minimum: 0,
      maximum: 2,
    }),
  ),
  interruptionsPerDay: optional(shareBelowOne('Share of running spot instances that are interrupted per day.')),
  unevenness: optional(
    Type.Number({
      description: 'Ratio between the interruption rates of the pools with the least and the most spare capacity.',
      minimum: 1,
      maximum: 1_000,
    }),
  ),
});

export const WORLD_FILE = object({
  region: optional(text({ pattern: '^[a-z]{2}(-[a-z]+)+-[0-9]+$' })),
  seed: optional(integer({ minimum: 0, maximum: 2 ** 31 })),
  bootSeconds: optional(object({ p50: optional(seconds('Median.')), p95: optional(seconds('95th percentile.')) })),
  podStartSeconds: optional(seconds('Seconds from the binding of a pod until its containers run.')),
  cpuUtilization: optional(share('Part of the requested CPU that pods use.')),
  spot: optional(SPOT),
  soldOut: optional(
    object({
      spot: optional(share('Share of spot pools that are sold out at a time.')),
      onDemand: optional(share('Share of on-demand pools that are sold out at a time.')),
      hours: optional(Type.Number({ minimum: 0.01, maximum: 10_000 })),
    }),
  ),
  imageRotationDays: optional(Type.Number({ minimum: 0, maximum: 10_000 })),
});

export type WorldFile = Declared<typeof WORLD_FILE>;
