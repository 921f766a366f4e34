/**
 * Behaviour of the environment of the cluster in a replay: machines, prices and shortages. The same seed creates the
 * same world.
 */
import { DEFAULT_CPU_UTILIZATION } from '#api/values';
import type { WorldSummary } from '../result.ts';

export interface WorldModel {
  readonly region: string;
  readonly seed: number;
  /** Seed of boot times. Default: `seed`. */
  readonly bootSeed?: number;
  /** Seconds from the launch until the node is ready: log-normal, by its median and 95th percentile. */
  readonly bootSeconds: { readonly p50: number; readonly p95: number };
  /** Seconds from the binding of a pod until its containers run. */
  readonly podStartSeconds: number;
  /**
   * Part of the requested CPU that pods use, from 0 to 1. It determines the surplus CPU credits of burstable instances.
   */
  readonly cpuUtilization: number;
  readonly spot: SpotModel;
  readonly soldOut: SoldOutModel;
  /** Days between new images of each family. 0: images do not change. */
  readonly imageRotationDays: number;
}

export interface SpotModel {
  /** Prices in USD per hour. Pools without such a price follow `volatility`. */
  readonly prices?: readonly SpotPrice[];
  /** Standard deviation of the daily change of a pool's price, as a fraction. 0: prices do not change. */
  readonly volatility: number;
  /** Share of running spot instances that are interrupted per day. 0: no interruptions. */
  readonly interruptionsPerDay: number;
  /** Ratio between the interruption rates of the pools with the least and the most spare capacity. 1: equal rates. */
  readonly unevenness: number;
}

export interface SpotPrice {
  /** Seconds since the start of the trace. */
  readonly at: number;
  readonly instanceType: string;
  readonly zone: string;
  readonly usdPerHour: number;
}

export interface SoldOutModel {
  /** Shares of spot pools and of on-demand pools that are sold out at a moment, from 0 to 1. */
  readonly spot: number;
  readonly onDemand: number;
  /** Average number of hours for which a pool stays sold out. */
  readonly hours: number;
}

export const DEFAULT_WORLD: WorldModel = {
  region: 'us-west-2',
  seed: 1,
  bootSeconds: { p50: 40, p95: 70 },
  podStartSeconds: 3,
  cpuUtilization: DEFAULT_CPU_UTILIZATION,
  spot: { volatility: 0.03, interruptionsPerDay: 0.02, unevenness: 4 },
  soldOut: { spot: 0.03, onDemand: 0.002, hours: 2 },
  imageRotationDays: 0,
};

const percent = (share: number): string => `${Number((100 * share).toFixed(2))} %`;

/** Returns a summary with one line for each parameter that differs from the default. */
export function worldSummary(model: WorldModel): WorldSummary {
  const { region, seed } = model;
  const says = LINES.filter(({ part }) => JSON.stringify(part(model)) !== JSON.stringify(part(DEFAULT_WORLD)));
  return { region, seed, says: says.map(({ line }) => line(model)) };
}

interface Line {
  /** Returns the parameters of this line. */
  part(model: WorldModel): unknown;
  line(model: WorldModel): string;
}

const LINES: readonly Line[] = [
  {
    part: ({ bootSeconds: { p50, p95 } }) => [p50, p95],
    line: ({ bootSeconds: { p50, p95 } }) =>
      p50 === 0 ? 'boot: default of the local cluster' : `boot: ${p50} s, 95 of 100 within ${p95} s`,
  },
  {
    part: ({ podStartSeconds }) => podStartSeconds,
    line: ({ podStartSeconds }) => `start of pods: ${podStartSeconds} s`,
  },
  {
    part: ({ cpuUtilization }) => cpuUtilization,
    line: ({ cpuUtilization }) => `pods use ${percent(cpuUtilization)} of the CPU that they request`,
  },
  { part: ({ spot }) => [spot.prices, spot.volatility], line: ({ spot }) => `spot prices: ${pricesText(spot)}` },
  {
    part: ({ spot }) => [spot.interruptionsPerDay, spot.unevenness],
    line: ({ spot: { interruptionsPerDay: rate, unevenness } }) =>
      rate === 0
        ? 'interruptions: none'
        : `interruptions: ${percent(rate)} of spot nodes per day` +
          (unevenness === DEFAULT_WORLD.spot.unevenness ? '' : `, ${unevenness} times as many in the smallest pools`),
  },
  {
    part: ({ soldOut: { spot, onDemand, hours } }) => [spot, onDemand, hours],
    line: ({ soldOut: { spot, onDemand, hours } }) =>
      spot === 0 && onDemand === 0
        ? 'sold out: never'
        : `sold out: ${percent(spot)} of spot pools, ${percent(onDemand)} of on-demand pools, for ${hours} h`,
  },
  {
    part: ({ imageRotationDays: days }) => days,
    line: ({ imageRotationDays: days }) => `new images: every ${days === 1 ? 'day' : `${days} days`}`,
  },
];

function pricesText({ prices, volatility }: SpotModel): string {
  const others = volatility === 0 ? 'constant' : `change by ${percent(volatility)} per day`;
  if (!prices?.length) return others;
  const pools = new Set(prices.map(({ instanceType, zone }) => `${instanceType}/${zone}`)).size;
  return `${prices.length} from the world file for ${pools} ${pools === 1 ? 'pool' : 'pools'}, other pools ${others}`;
}
