/** Finds launches of a claim that commitments cover. */
import { CAPACITY_TYPE_LABEL } from '#api/objects';
import { compatibleOfferings, satisfiesMinValues } from '../instance-types.ts';
import type { Usage } from '../price-book/commitment.ts';
import { usageOfOffering } from '../price-book/covered-types.ts';
import { type Cover, type Ledger, marginalPrice } from '../price-book/ledger.ts';
import { ValueSet } from '../value-set.ts';
import type { Claim, ClaimCover } from './claim.ts';
import type { Shape } from './shape.ts';

const NONE: readonly Usage[] = [];
const TINY = 1e-9;

/** Returns the available on-demand offerings of each type that the shape allows, with one offering per zone. */
function usagesOf(shape: Shape): readonly (readonly Usage[])[] {
  return shape.computeOnce('on-demand usage', () => {
    const { catalogue, requirements, possible } = shape;
    const capacityTypes = requirements.get(CAPACITY_TYPE_LABEL);
    if (!capacityTypes.has('on-demand')) return catalogue.types.map(() => NONE);
    const narrowed = requirements.and(CAPACITY_TYPE_LABEL, ValueSet.in(['on-demand']));
    const isPossible = new Set(catalogue.typesOf(possible));
    return catalogue.types.map((type, at): readonly Usage[] => {
      if (!isPossible.has(at)) return NONE;
      const byZone = new Map<string, Usage>();
      for (const offering of compatibleOfferings(type, narrowed)) {
        const usage = usageOfOffering(type.name, offering);
        if (usage !== undefined && !byZone.has(usage.zone)) byZone.set(usage.zone, usage);
      }
      return [...byZone.values()];
    });
  });
}

/**
 * Returns true if a claim may use commitments. Claims that hold reservations are not launched as on-demand, and claims with
 * lowered `minValues` need all their types.
 */
export const isCoverable = ({ held, minValuesLowered }: Claim): boolean => held.size === 0 && !minValuesLowered;

/** Returns true if the claim still satisfies its `minValues` with only these types. */
function keepsVariety({ state }: Claim, positions: ReadonlySet<number>): boolean {
  if (!state.shape.hasMinValues) return true;
  const types = [...positions].flatMap((type) => state.template.catalogue.types[type] ?? []);
  return satisfiesMinValues(types, state.shape.requirements).unsatisfied.length === 0;
}

interface Found {
  readonly type: number;
  readonly usage: Usage;
  readonly taken: Cover;
  readonly usdPerHour: number;
  readonly isWhole: boolean;
}

interface BestCover {
  readonly cover: ClaimCover;
  /** Amount that the claim adds to the bill. */
  readonly usdPerHour: number;
  /** True if commitments cover the whole price. */
  readonly isWhole: boolean;
  /** Commitments that the claim uses. */
  readonly taken: Cover;
}

/**
 * Returns the cheapest launch of the claim with the unused commitments. Returns undefined if commitments cover none of its
 * types.
 */
export function bestCover(claim: Claim, ledger: Ledger): BestCover | undefined {
  const { state, usdPerHour: price } = claim;
  const usages = usagesOf(state.shape);
  const found: Found[] = [];
  for (const type of state.template.catalogue.typesOf(state.rows)) {
    const best = cheapestOf(type, usages[type] ?? NONE, ledger);
    if (best === undefined) continue;
    // commitments do not cover surplus CPU
    const surplus = state.template.surplusPrices.usdPerHour(type, state.amounts);
    found.push({ ...best, usdPerHour: best.usdPerHour + surplus });
  }
  const best = found.reduce<Found | undefined>(
    (least, each) => (least === undefined || each.usdPerHour < least.usdPerHour ? each : least),
    undefined,
  );
  if (best === undefined) return undefined;
  // AWS launches the type with the lowest AWS price, so no cheaper type may be in the list besides the intended one
  const isZonal = ledger.isZonal(best.taken);
  const types = found.filter(
    ({ usage, isWhole, usdPerHour }) =>
      (!isZonal || usage.zone === best.usage.zone) &&
      usage.usdPerHour >= best.usage.usdPerHour &&
      (best.isWhole ? isWhole : usdPerHour < price),
  );
  const positions = new Set(types.map(({ type }) => type).concat(best.type));
  if (!keepsVariety(claim, positions)) return undefined;
  const cover: ClaimCover = {
    types: positions,
    usage: best.usage,
    isZonal,
    coveredUsdPerHour: best.taken.usdPerHour,
  };
  return { cover, usdPerHour: best.usdPerHour, isWhole: best.isWhole, taken: best.taken };
}

function cheapestOf(type: number, usages: readonly Usage[], ledger: Ledger): Found | undefined {
  let best: Found | undefined;
  for (const usage of usages) {
    const taken = ledger.cover(usage);
    if (taken === undefined) continue;
    const usdPerHour = marginalPrice(usage, taken);
    if (best !== undefined && usdPerHour >= best.usdPerHour) continue;
    best = { type, usage, taken, usdPerHour, isWhole: taken.usdPerHour >= usage.usdPerHour * (1 - TINY) };
  }
  return best;
}

/** Returns the on-demand launch of a claim whose cheapest offering is on-demand in any case. */
export function onDemandUsage(claim: Claim): ClaimCover | undefined {
  if (!isCoverable(claim)) return undefined;
  const { state } = claim;
  const { type } = state.cheapest;
  const usages = usagesOf(state.shape);
  const usage = usages[type]?.find((each) => each.usdPerHour === state.shape.offerings.prices[type]);
  if (usage === undefined) return undefined;
  const types = state.template.catalogue.typesOf(state.rows).filter((type) => (usages[type] ?? NONE).length > 0);
  const positions = new Set(types);
  return keepsVariety(claim, positions) ? { types: positions, usage, isZonal: false, coveredUsdPerHour: 0 } : undefined;
}

/** Returns prices per type for a search. A type is almost free if unused commitments cover a whole instance of it. */
export function coveredPrices(ledger: Ledger): (shape: Shape) => Float64Array {
  const known = new Map<Shape, Float64Array>();
  const left = ledger.copy();
  return (shape) => {
    let prices = known.get(shape);
    if (prices === undefined) {
      const usages = usagesOf(shape);
      prices = shape.offerings.prices.map((price, type) => {
        const best = cheapestOf(type, usages[type] ?? NONE, left);
        return best?.isWhole ? Math.min(price, best.usdPerHour) : price;
      });
      known.set(shape, prices);
    }
    return prices;
  };
}
