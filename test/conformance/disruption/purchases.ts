/** What a replacement may be launched as, and what that may cost. */
import type { SimulatedReplacement } from '../../../src/cli/render/commands.ts';
import { type Amounts, amountOf, type Expression, holds, type Labels } from '../rules.ts';
import type { TypeEntry } from '../validity.ts';
import { capacityTypeOf, type OfferingEntry } from './catalogues.ts';

export type Requirements = readonly Expression[];

/** As the rules want requirements. */
export const withValues = (each: SimulatedReplacement['requirements'][number]): Expression => ({
  ...each,
  values: each.values ?? [],
});

/** Whether a label has at least one value in common with what is asked of it. */
const admits = (entry: Expression, wanted: Expression): boolean =>
  entry.operator === 'In'
    ? (entry.values ?? []).some((value) => holds(wanted, { [entry.key]: value }))
    : entry.operator !== 'DoesNotExist' || wanted.operator === 'DoesNotExist' || wanted.operator === 'NotIn';

/** Every requirement on a key that the entry has is met by it. */
const agrees = (entries: Requirements, wanted: Requirements): boolean =>
  entries.every((entry) => wanted.filter(({ key }) => key === entry.key).every((each) => admits(entry, each)));

/** Offerings that are for sale and that the requirements allow. */
export const buyable = ({ offerings }: TypeEntry, wanted: Requirements): readonly OfferingEntry[] =>
  offerings.filter(({ available, requirements }) => available && agrees(requirements, wanted));

export const cheapest = (type: TypeEntry, wanted: Requirements): number =>
  Math.min(Number.POSITIVE_INFINITY, ...buyable(type, wanted).map(({ price }) => price));

/** The dearest offering of the capacity type that a launch takes first. */
export function worst(type: TypeEntry, wanted: Requirements): number {
  const sold = buyable(type, wanted);
  const capacityType = ['reserved', 'spot', 'on-demand'].find((each) =>
    sold.some((one) => capacityTypeOf(one) === each),
  );
  const prices = sold.filter((each) => capacityTypeOf(each) === capacityType).map(({ price }) => price);
  return prices.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...prices);
}

/** Number of types, cheapest first, that it takes to have so many different values of every key. */
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

/** The node's labels as far as the type and the offering decide them. */
export function nodeLabels(type: TypeEntry, offering: OfferingEntry): Labels {
  const fixed = [...type.requirements, ...offering.requirements].filter(
    ({ operator, values = [] }) => operator === 'In' && values.length === 1,
  );
  return Object.fromEntries(fixed.map(({ key, values = [] }) => [key, values[0] ?? '']));
}

/** What is left of the type for pods. */
export function roomOf({ capacity, overhead = {} }: TypeEntry, resource: string): number {
  const kept = Object.values(overhead).reduce((sum, list) => sum + amountOf(list?.[resource] ?? 0), 0);
  return amountOf(capacity[resource] ?? 0) - kept;
}

/** Types that a new node for these requests could be: they meet the requirements, are for sale, and hold it all. */
export const possible = (types: Iterable<TypeEntry>, wanted: Requirements, requests: Amounts): readonly TypeEntry[] =>
  [...types].filter(
    (type) =>
      agrees(type.requirements, wanted) &&
      buyable(type, wanted).length > 0 &&
      Object.entries(requests).every(([resource, amount]) => amount <= roomOf(type, resource) + 1e-6),
  );
