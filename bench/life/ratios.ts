/** Ratios between two settings over lives, with confidence intervals. */
import { comparePairs } from '#replay/testing';

export interface Ratio {
  /** Geometric mean. */
  readonly mean: number;
  /** 95 % confidence interval. Missing if there are fewer than two lives. */
  readonly interval?: readonly [low: number, high: number];
}

export interface Pair {
  readonly own: number;
  readonly first: number;
}

/** Returns the logarithm of a ratio. @param added amount that is added to both values, because they may be 0 */
export const logRatio = ({ own, first }: Pair, added: number): number => Math.log((own + added) / (first + added));

/** Returns the geometric mean of ratios, from the logarithm of the ratio of each life. */
export function ratioFrom(logarithms: readonly number[]): Ratio {
  const { mean, interval } = comparePairs(logarithms);
  return {
    mean: Math.exp(mean),
    ...(interval !== undefined && { interval: [Math.exp(interval.low), Math.exp(interval.high)] as const }),
  };
}

export const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
