/** How a claim could be bought so that commitments cover its instance. */
import { CAPACITY_TYPE_LABEL } from '../../api/labels.ts';
import { compatibleOfferings, satisfiesMinValues } from '../instance-types.ts';
import type { Usage } from '../price-book/commitment.ts';
import { usageOfOffering } from '../price-book/covered-types.ts';
import { type Cover, type Ledger, marginalPrice } from '../price-book/ledger.ts';
import { ValueSet } from '../value-set.ts';
import type { Claim, ClaimCover } from './claim.ts';
import type { Shape } from './shape.ts';

const NONE: readonly Usage[] = [];
const TINY = 1e-9;

/** The on-demand offerings of each type that the shape allows and that can be bought; equal ones of a zone once. */
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

/** Claims that hold reservations are not bought on demand, and those with lowered `minValues` need the types that they have. */
export const isCoverable = ({ held, minValuesLowered }: Claim): boolean => held.size === 0 && !minValuesLowered;

/** Whether the claim keeps the variety that its `minValues` ask for when it is one of some types. */
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
  /** What it adds to the bill. */
  readonly usdPerHour: number;
  /** Whether nothing of the price is left. */
  readonly isWhole: boolean;
  /** What it takes of commitments. */
  readonly taken: Cover;
}

/** The cheapest way to buy the claim with what is left of commitments; undefined when none of it covers any of its types. */
export function bestCover(claim: Claim, ledger: Ledger): BestCover | undefined {
  const { state, usdPerHour: price } = claim;
  const usages = usagesOf(state.shape);
  const found: Found[] = [];
  for (const type of state.template.catalogue.typesOf(state.rows)) {
    const best = cheapestOf(type, usages[type] ?? NONE, ledger);
    if (best !== undefined) found.push(best);
  }
  const best = found.reduce<Found | undefined>(
    (least, each) => (least === undefined || each.usdPerHour < least.usdPerHour ? each : least),
    undefined,
  );
  if (best === undefined) return undefined;
  // AWS takes the cheapest of the types by its own prices: none may stand before the one that is meant
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

/** How a claim is bought on demand whose cheapest offering is on-demand anyway. */
export function onDemandUsage(claim: Claim): ClaimCover | undefined {
  if (!isCoverable(claim)) return undefined;
  const { state, usdPerHour } = claim;
  const { cheapest } = state.choice;
  const usages = usagesOf(state.shape);
  const usage = usages[cheapest]?.find((each) => each.usdPerHour === usdPerHour);
  if (usage === undefined) return undefined;
  const types = state.template.catalogue.typesOf(state.rows).filter((type) => (usages[type] ?? NONE).length > 0);
  const positions = new Set(types);
  return keepsVariety(claim, positions) ? { types: positions, usage, isZonal: false, coveredUsdPerHour: 0 } : undefined;
}

/** Prices per type for a search: next to nothing where a whole instance is covered by what is left now. */
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
