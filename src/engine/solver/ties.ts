/** Chooses among domains that are equal for topology. */
import { Requirements } from '../requirements.ts';
import { ValueSet } from '../value-set.ts';
import type { Choice } from './choice.ts';
import type { ClaimState } from './claim.ts';
import type { Shape } from './shape.ts';

/** Chooses among positions `0 … count - 1`, which stand for domains by price, cheapest first. */
export type TieBreak = (count: number) => number;

export const cheapestFirst: TieBreak = () => 0;

interface RankedDomain {
  readonly domain: string;
  /** Price level. Infinite if the domain has no available type. */
  readonly level: number;
}

/**
 * Returns domains by price level. Ties keep their order. The level is computed over the remaining types that every domain
 * offers, because a claim often grows until only large types fit. If there is no such type, the cheapest type determines the
 * level.
 */
export const rankedDomains = (
  { choice }: ClaimState,
  key: string,
  domains: readonly string[],
): readonly RankedDomain[] => choice.computeOnce(`ranks ${key} ${domains.join()}`, () => ranked(choice, key, domains));

function ranked({ shape: own, rows: all }: Choice, key: string, domains: readonly string[]): readonly RankedDomain[] {
  const { catalogue } = own;
  const options = domains.flatMap((domain) => {
    const shape = own.narrow(Requirements.EMPTY.and(key, ValueSet.in([domain])));
    return 'code' in shape ? [] : [{ domain, shape, rows: all.clone().and(shape.possible) }];
  });
  const common = all.clone();
  for (const { rows } of options) common.and(rows);
  const shared = common.members;
  return options
    .map(({ domain, shape, rows }) => {
      const { prices } = shape.offerings;
      let level = 0;
      for (const row of shared) level += prices[catalogue.typeAt(row)] ?? Number.POSITIVE_INFINITY;
      if (shared.length === 0) {
        const own = rows.members.map((row) => prices[catalogue.typeAt(row)] ?? Number.POSITIVE_INFINITY);
        level = Math.min(...own);
      }
      return { domain, level };
    })
    .filter(({ level }) => level < Number.POSITIVE_INFINITY)
    .sort((a, b) => a.level - b.level);
}

/** Returns true if domains have the same prices for claims of a shape, for any of its remaining types. */
export function costTheSame(shape: Shape, key: string, domains: readonly string[]): boolean {
  return shape.computeOnce(`same prices ${key} ${domains.join()}`, () => {
    const [first, ...others] = domains.map((domain) =>
      shape.narrow(Requirements.EMPTY.and(key, ValueSet.in([domain]))),
    );
    if (first === undefined || 'code' in first) return false;
    return others.every((other) => !('code' in other) && isPricedAlike(first, other));
  });
}

const isPricedAlike = (one: Shape, other: Shape): boolean =>
  one.possible.equals(other.possible) &&
  one.offerings.prices.every((price, type) => price === other.offerings.prices[type]);
