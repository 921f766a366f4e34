/** How the world outside of the cluster behaves in a replay: machines, prices, shortages. The same seed makes the same world. */
import { DEFAULT_CPU_UTILIZATION } from '../../api/expected-cpu-utilization.ts';

export interface WorldModel {
  readonly region: string;
  readonly seed: number;
  /** Seconds from launch until the node is Ready: log-normal, by its median and 95th percentile. */
  readonly bootSeconds: { readonly p50: number; readonly p95: number };
  /** Seconds from a pod's binding until its containers run. */
  readonly podStartSeconds: number;
  /** Part of the requested CPU that pods use, 0 to 1. Determines the surplus CPU credits of burstable instances. */
  readonly cpuUtilization: number;
  readonly spot: SpotModel;
  readonly soldOut: SoldOutModel;
  /** Days between two new images of each family; 0: images stay. */
  readonly imageRotationDays: number;
}

export interface SpotModel {
  /** Prices given by the hour, USD; what they do not name follows `volatility`. */
  readonly prices?: readonly SpotPrice[];
  /** Standard deviation of the daily change of a pool's price, as a fraction; 0: prices stay. */
  readonly volatility: number;
  /** Share of running spot instances that are taken back in a day; 0: none. */
  readonly interruptionsPerDay: number;
  /** How much more often pools with little spare capacity are interrupted than others; 1: all alike. */
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
  /** Share of spot pools, and of on-demand pools, that are sold out at a moment, 0 to 1. */
  readonly spot: number;
  readonly onDemand: number;
  /** Hours for which a pool stays sold out, on average. */
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
