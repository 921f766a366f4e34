/**
 * Commitments: Savings Plans and reserved instances, which are paid for whether they are used or not. While something is
 * left of one, an on-demand instance that it covers costs nothing more.
 */

import { instanceFamilyOf } from '../../api/price-book/price-book.ts';
import { unitsOf } from '../instance-sizes.ts';

/** What instances that run take of a commitment in an hour. Without a type and a family it is for all of them. */
export interface CommitmentRate {
  readonly instanceType?: string;
  readonly family?: string;
  /** A fixed amount. */
  readonly perHour?: number;
  /** As part of the on-demand list price in USD. */
  readonly share?: number;
  /** For each unit of size. */
  readonly perUnit?: number;
}

/** Plain data: part of a snapshot. */
export interface Commitment {
  /** Unlike any other's where its owner says so; for messages. */
  readonly name: string;
  readonly kind:
    | 'zonal-reserved-instances'
    | 'regional-reserved-instances'
    | 'ec2-instance-savings-plan'
    | 'compute-savings-plan';
  /** USD per hour of a Savings Plan, units of size of size-flexible reserved instances, else instances. */
  readonly amount: number;
  /** Of zonal reserved instances. */
  readonly zone?: string;
  readonly rates: readonly CommitmentRate[];
}

/** An on-demand instance as commitments see it. */
export interface Usage {
  readonly instanceType: string;
  readonly zone: string;
  /** What it costs where nothing covers it. */
  readonly usdPerHour: number;
  /** AWS's list price, which shares are of. */
  readonly listUsdPerHour: number;
}

/** Size of an instance type relative to others of its family, proportional to AWS's normalisation factors. */
export const unitsOfType = (instanceType: string): number | undefined =>
  unitsOf(instanceType.slice(instanceType.indexOf('.') + 1));

/** Rates by what they are for, so that a plan with thousands is looked up at once. */
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

/** How much of the commitment the instance takes in an hour when it is covered whole; undefined when it is not covered. */
export function drawOf({ zone, rates }: Commitment, usage: Usage): number | undefined {
  if (zone !== undefined && zone !== usage.zone) return undefined;
  const index = indexOf(rates);
  // the most specific rate counts
  const rate = index.get(usage.instanceType) ?? index.get(instanceFamilyOf(usage.instanceType)) ?? index.get('');
  if (rate === undefined) return undefined;
  if (rate.perUnit === undefined) return rate.perHour ?? (rate.share ?? 1) * usage.listUsdPerHour;
  const units = unitsOfType(usage.instanceType);
  return units === undefined ? undefined : rate.perUnit * units;
}
