/**
 * Commitments, which are paid even if they are not used. While a commitment has unused capacity, an on-demand instance that it
 * covers adds no cost.
 */

import { instanceFamilyOf } from '#api/price-book';
import { unitsOf } from '../instance-sizes.ts';

/** Hourly use of a commitment by running instances. Without a type and a family, the rate applies to all instances. */
export interface CommitmentRate {
  readonly instanceType?: string;
  readonly family?: string;
  /** Fixed amount. */
  readonly perHour?: number;
  /** Part of the on-demand list price in USD. */
  readonly share?: number;
  /** Amount for each unit of size. */
  readonly perUnit?: number;
}

/** Commitment. Plain data, because it is part of a snapshot. */
export interface Commitment {
  /** Name for messages. Unique if the owner ensures this. */
  readonly name: string;
  readonly kind:
    | 'zonal-reserved-instances'
    | 'regional-reserved-instances'
    | 'ec2-instance-savings-plan'
    | 'compute-savings-plan';
  /** USD per hour for a plan, units of size for size-flexible reserved instances, otherwise number of instances. */
  readonly amount: number;
  /** Only for zonal reserved instances. */
  readonly zone?: string;
  readonly rates: readonly CommitmentRate[];
}

/** On-demand instance from the perspective of commitments. */
export interface Usage {
  readonly instanceType: string;
  readonly zone: string;
  /** Price without commitments. */
  readonly usdPerHour: number;
  /** AWS list price, the base of shares. */
  readonly listUsdPerHour: number;
}

/** Returns the size of an instance type relative to its family, proportional to the normalization factors of AWS. */
export const unitsOfType = (instanceType: string): number | undefined =>
  unitsOf(instanceType.slice(instanceType.indexOf('.') + 1));

/** Index of rates by type or family, for a fast lookup in plans with thousands of rates. */
const indexes = new WeakMap<readonly CommitmentRate[], ReadonlyMap<string, CommitmentRate>>();

function indexOf(rates: readonly CommitmentRate[]): ReadonlyMap<string, CommitmentRate> {
  let index = indexes.get(rates);
  if (index === undefined) {
    const made = new Map<string, CommitmentRate>();
    for (const rate of rates) {
      const key = rate.instanceType ?? rate.family ?? '';
      if (!made.has(key)) made.set(key, rate);
    }
    index = made;
    indexes.set(rates, index);
  }
  return index;
}

/** Returns the hourly use of the commitment by an instance that is fully covered, or undefined if it is not covered. */
export function drawOf({ zone, rates }: Commitment, usage: Usage): number | undefined {
  if (zone !== undefined && zone !== usage.zone) return undefined;
  const index = indexOf(rates);
  // the most specific rate applies
  const rate = index.get(usage.instanceType) ?? index.get(instanceFamilyOf(usage.instanceType)) ?? index.get('');
  if (rate === undefined) return undefined;
  if (rate.perUnit === undefined) return rate.perHour ?? (rate.share ?? 1) * usage.listUsdPerHour;
  const units = unitsOfType(usage.instanceType);
  return units === undefined ? undefined : rate.perUnit * units;
}
