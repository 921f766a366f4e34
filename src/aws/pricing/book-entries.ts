/** Selects the entries of a price book that apply in a region at a time: discounts and commitments. */

import {
  type Discount,
  instanceFamilyOf,
  LOWEST_PRICE_SHARE,
  type PriceBook,
  type ReservedInstances,
  type SavingsPlan,
} from '#api/price-book';
import { type Commitment, type CommitmentRate, unitsOfType } from '#engine/costs';
import type { Offering } from '#engine/model';
import { defined, timeOf } from '#lib';

interface BookContext {
  readonly region: string;
  readonly nowMs: number;
}

interface Dated {
  readonly region?: string;
  readonly start?: string;
  readonly end?: string;
}

export const isExpired = ({ end }: Dated, nowMs: number): boolean => end !== undefined && nowMs >= timeOf(end);

function isInForce(entry: Dated, { region, nowMs }: BookContext): boolean {
  if (entry.region !== undefined && entry.region !== region) return false;
  if (entry.start !== undefined && nowMs < timeOf(entry.start)) return false;
  return !isExpired(entry, nowMs);
}

/** Part of a price book that applies in a region at a time. */
interface BookInForce {
  readonly discounts: readonly Discount[];
  /** Undefined if there are no discounts. */
  readonly discounted: DiscountedPrice | undefined;
  readonly commitments: readonly Commitment[];
}

export function bookInForce(book: PriceBook, context: BookContext): BookInForce {
  const discounts = book.discounts.filter((entry) => isInForce(entry, context));
  return { discounts, discounted: discountsOf(discounts), commitments: commitmentsOf(book, context) };
}

/** Returns the price in USD per hour that replaces a list price. */
export type DiscountedPrice = (instanceType: string, capacityType: string, listUsdPerHour: number) => number;

/**
 * Returns the specificity of a discount. A type is more specific than a family, and a family is more specific than all remaining
 * fields together.
 */
const specificity = ({ instanceType, family, capacityType, region }: Discount): number =>
  (instanceType === undefined ? 0 : 8) +
  (family === undefined ? 0 : 4) +
  (capacityType === undefined ? 0 : 2) +
  (region === undefined ? 0 : 1);

/** Returns the prices of an offering. The list price is present only if the price book sets a different price. */
export const offeringPrices = (
  listUsdPerHour: number,
  usdPerHour: number | undefined,
): Pick<Offering, 'usdPerHour' | 'listUsdPerHour'> =>
  usdPerHour === undefined || usdPerHour === listUsdPerHour
    ? { usdPerHour: listUsdPerHour }
    : { usdPerHour, listUsdPerHour };

/** Returns the function for the discounts, or undefined if there are none. For equal specificity, the first discount applies. */
function discountsOf(discounts: readonly Discount[]): DiscountedPrice | undefined {
  const inForce = discounts.toSorted((a, b) => specificity(b) - specificity(a));
  if (inForce.length === 0) return undefined;
  const known = new Map<string, Discount | undefined>();
  return (instanceType, capacityType, listUsdPerHour) => {
    const key = `${capacityType} ${instanceType}`;
    if (!known.has(key))
      known.set(
        key,
        inForce.find((entry) => isFor(entry, instanceType, capacityType)),
      );
    const entry = known.get(key);
    const usdPerHour = entry?.usdPerHour ?? listUsdPerHour * (1 - (entry?.discount ?? 0));
    return Math.max(usdPerHour, listUsdPerHour * LOWEST_PRICE_SHARE);
  };
}

const isFor = (entry: Discount, instanceType: string, capacityType: string): boolean =>
  (entry.instanceType === undefined || entry.instanceType === instanceType) &&
  (entry.family === undefined || entry.family === instanceFamilyOf(instanceType)) &&
  (entry.capacityType === undefined || entry.capacityType === capacityType);

/**
 * Returns the Savings Plans and reserved instances that are available to this cluster, in the order of their application by AWS.
 */
function commitmentsOf(book: PriceBook, context: BookContext): readonly Commitment[] {
  const found = [
    ...book.reservedInstances.flatMap((entry, at) => reservedCommitment(entry, { book, context, at })),
    ...book.savingsPlans.flatMap((entry, at) => planCommitment(entry, { book, context, at })),
  ];
  return found.filter(({ amount }) => amount > 0).toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}

const ORDER: readonly Commitment['kind'][] = [
  'zonal-reserved-instances',
  'regional-reserved-instances',
  'ec2-instance-savings-plan',
  'compute-savings-plan',
];

interface Position {
  readonly book: PriceBook;
  readonly context: BookContext;
  readonly at: number;
}

function reservedCommitment(entry: ReservedInstances, { book, context, at }: Position): readonly Commitment[] {
  if (!isInForce(entry, context)) return [];
  const { id, instanceType, count, zone, sizeFlexible = zone === undefined } = entry;
  const units = sizeFlexible ? unitsOfType(instanceType) : undefined;
  const part = entry.availableToThisCluster ?? book.availableToThisCluster;
  const base = { name: id ?? `reservedInstances[${at}]`, amount: part * count * (units ?? 1) };
  // bare metal has no size flexibility, so the rate applies only to the exact type
  const rate: CommitmentRate =
    units === undefined ? { instanceType, perHour: 1 } : { family: instanceFamilyOf(instanceType), perUnit: 1 };
  return zone === undefined
    ? [{ ...base, kind: 'regional-reserved-instances', rates: [rate] }]
    : [{ ...base, kind: 'zonal-reserved-instances', zone, rates: [rate] }];
}

function planCommitment(entry: SavingsPlan, { book, context, at }: Position): readonly Commitment[] {
  // rates of a Compute plan have their own regions
  if (!isInForce(entry, context)) return [];
  const { id, type, commitmentUsdPerHour, family } = entry;
  const rates = entry.rates
    .filter(({ region }) => region === undefined || region === context.region)
    .map((rate): CommitmentRate => {
      const covered =
        rate.instanceType === undefined ? { family: rate.family ?? family } : { instanceType: rate.instanceType };
      const price = rate.usdPerHour === undefined ? { share: rate.share ?? 1 } : { perHour: rate.usdPerHour };
      return { ...defined(covered), ...price };
    })
    .filter((rate) => family === undefined || (rate.family ?? instanceFamilyOf(rate.instanceType ?? '')) === family);
  const part = entry.availableToThisCluster ?? book.availableToThisCluster;
  const kind = type === 'Compute' ? 'compute-savings-plan' : 'ec2-instance-savings-plan';
  return [{ name: id ?? `savingsPlans[${at}]`, kind, amount: part * commitmentUsdPerHour, rates }];
}
