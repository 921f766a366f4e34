/**
 * Behaviour of the environment of the cluster in a replay: machines, prices and shortages. The same seed creates the
 * same world.
 */
import { DEFAULT_CPU_UTILIZATION } from '../../api/expected-cpu-utilization.ts';

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
