/** Possible launches of a replacement, and their prices. */
import type { SimulatedReplacement } from '#cli/testing';
import { type Amounts, amountOf, type Expression, holds, type Labels } from '../rules.ts';
import type { TypeEntry } from '../validity.ts';
import { capacityTypeOf, type OfferingEntry } from './catalogues.ts';

export type Requirements = readonly Expression[];

/** Converts a requirement to the form that the rules use. */
export const withValues = (each: SimulatedReplacement['requirements'][number]): Expression => ({
  ...each,
  values: each.values ?? [],
});

/** Reports whether a label and a requirement have a common value. */
const admits = (entry: Expression, wanted: Expression): boolean =>
  entry.operator === 'In'
    ? (entry.values ?? []).some((value) => holds(wanted, { [entry.key]: value }))
    : entry.operator !== 'DoesNotExist' || wanted.operator === 'DoesNotExist' || wanted.operator === 'NotIn';

/** Reports whether the entries meet every requirement on their keys. */
const agrees = (entries: Requirements, wanted: Requirements): boolean =>
  entries.every((entry) => wanted.filter(({ key }) => key === entry.key).every((each) => admits(entry, each)));

/** Returns the available offerings that meet the requirements. */
export const buyable = ({ offerings }: TypeEntry, wanted: Requirements): readonly OfferingEntry[] =>
  offerings.filter(({ available, requirements }) => available && agrees(requirements, wanted));

export const cheapest = (type: TypeEntry, wanted: Requirements): number =>
  Math.min(Number.POSITIVE_INFINITY, ...buyable(type, wanted).map(({ price }) => price));

/** Returns the highest price of the capacity type that a launch prefers. */
export function worst(type: TypeEntry, wanted: Requirements): number {
  const sold = buyable(type, wanted);
  const capacityType = ['reserved', 'spot', 'on-demand'].find((each) =>
    sold.some((one) => capacityTypeOf(one) === each),
  );
  const prices = sold.filter((each) => capacityTypeOf(each) === capacityType).map(({ price }) => price);
  return prices.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...prices);
}

/** Returns the number of types, cheapest first, that provide the minimum number of values for every key. */
export function neededFor(types: readonly TypeEntry[], minimums: readonly (readonly [key: string, count: number])[]) {
  const reached = (count: number): boolean =>
    minimums.every(([key, least]) => {
      const values = types
        .slice(0, count)
        .flatMap(({ requirements }) => requirements.filter((each) => each.key === key));
      return new Set(values.flatMap((each) => each.values ?? [])).size >= least;
    });
  for (let count = 0; count <= types.length; count++) if (reached(count)) return count;
  return Number.POSITIVE_INFINITY;
}

export const minimumsOf = (
  requirements: SimulatedReplacement['requirements'],
): readonly (readonly [string, number])[] =>
  requirements.flatMap(({ key, minValues }) => (minValues === undefined ? [] : [[key, minValues] as const]));

/** Returns the labels of a node that its type and offering determine. */
export function nodeLabels(type: TypeEntry, offering: OfferingEntry): Labels {
  const fixed = [...type.requirements, ...offering.requirements].filter(
    ({ operator, values = [] }) => operator === 'In' && values.length === 1,
  );
  return Object.fromEntries(fixed.map(({ key, values = [] }) => [key, values[0] ?? '']));
}

/** Returns the allocatable amount of a resource. */
export function roomOf({ capacity, overhead = {} }: TypeEntry, resource: string): number {
  const kept = Object.values(overhead).reduce((sum, list) => sum + amountOf(list?.[resource] ?? 0), 0);
  return amountOf(capacity[resource] ?? 0) - kept;
}

/** Returns the possible types of a new node for these requests: suitable, available and large enough. */
export const possible = (types: Iterable<TypeEntry>, wanted: Requirements, requests: Amounts): readonly TypeEntry[] =>
  [...types].filter(
    (type) =>
      agrees(type.requirements, wanted) &&
      buyable(type, wanted).length > 0 &&
      Object.entries(requests).every(([resource, amount]) => amount <= roomOf(type, resource) + 1e-6),
  );
