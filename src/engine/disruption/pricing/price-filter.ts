/** Narrowing a replacement to instance types that are worth the move. */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '../../../api/labels.ts';
import {
  compareText,
  minValuesText,
  requirementsOf,
  satisfiesMinValues,
  weighedUsdPerHour,
} from '../../instance-types.ts';
import type { InstanceType, Offering, PlannedClaim } from '../../model.ts';
import { Requirements } from '../../requirements.ts';
import { ValueSet } from '../../value-set.ts';
import { PricedTypes, type PriceTable } from '../price-table.ts';

/** A planned claim with the types behind its names. What is needed late is computed late: most claims are discarded before. */
export class Replacement {
  readonly #planned: PlannedClaim;
  readonly #isNarrowed: boolean;
  readonly #priced: PricedTypes;
  readonly #prices: PriceTable;
  readonly #requirements: Requirements;
  /** In any order. */
  readonly #unordered: readonly InstanceType[];
  #ordered: readonly InstanceType[] | undefined;
  #claim: PlannedClaim | undefined;

  private constructor(
    planned: PlannedClaim,
    priced: PricedTypes,
    requirements: Requirements,
    narrowed?: { readonly types: readonly InstanceType[]; readonly isOrdered: boolean },
  ) {
    this.#planned = planned;
    this.#priced = priced;
    this.#prices = priced.under(requirements);
    this.#requirements = requirements;
    this.#isNarrowed = narrowed !== undefined;
    this.#unordered = narrowed?.types ?? priced.named(planned.instanceTypes);
    if (narrowed?.isOrdered) this.#ordered = narrowed.types;
  }

  static of(claim: PlannedClaim, known: readonly InstanceType[]): Replacement {
    return new Replacement(claim, PricedTypes.of(known), Requirements.fromRequirements(claim.requirements));
  }

  /** Of a claim that was narrowed before: its types stay in their order. */
  static again(claim: PlannedClaim, known: readonly InstanceType[]): Replacement {
    const replacement = Replacement.of(claim, known);
    return replacement.#with(replacement.#unordered, replacement.#requirements, true);
  }

  get count(): number {
    return this.#unordered.length;
  }

  get names(): readonly string[] {
    return this.#unordered.map(({ name }) => name);
  }

  /** Cheapest first. */
  get types(): readonly InstanceType[] {
    this.#ordered ??= this.#unordered
      .map((type) => ({ type, price: this.#prices.cheapest(type) }))
      .sort((a, b) => (a.price === b.price ? compareText(a.type.name, b.type.name) : a.price - b.price))
      .map(({ type }) => type);
    return this.#ordered;
  }

  admits(capacityType: string): boolean {
    return this.#requirements.get(CAPACITY_TYPE_LABEL).has(capacityType);
  }

  /** Bound to one capacity type, with the types that are sold under it now. */
  only(capacityType: string): Replacement {
    return this.#boundTo(CAPACITY_TYPE_LABEL, capacityType);
  }

  /**
   * Of spot and on-demand spot alone, with all the types and in the order of before: as Karpenter does it, which does not
   * look again at what is sold as spot, nor at `minValues`.
   */
  spotAlone(): Replacement {
    if (!this.admits('spot') || !this.admits('on-demand')) return this;
    const requirements = this.#requirements.and(CAPACITY_TYPE_LABEL, ValueSet.in(['spot']));
    return this.#with(this.types, requirements, true);
  }

  /**
   * Of spot and on-demand one alone, with the types of which every launch would cost less: a spot launch that fails must
   * not fall through to a dearer on-demand node. On-demand where spot is sold out or not enough for `minValues`, for a
   * claim for spot would find nothing. Or what is wrong with both; the same where neither is sold, but reserved is.
   */
  spotOrOnDemand(usdPerHour: number): Replacement | string {
    if (!this.admits('spot') || !this.admits('on-demand')) return this;
    const wrongs: string[] = [];
    for (const capacityType of ['spot', 'on-demand']) {
      const kept = this.only(capacityType).cheaperThan(usdPerHour);
      if (typeof kept === 'string') wrongs.push(kept);
      else if (kept.count > 0) return kept;
    }
    return wrongs[0] ?? this;
  }

  /** Bound to the zone in which `worstOf` is least; the same where the zones do not differ. */
  inCheapestZone(count: number): Replacement {
    let best: Replacement = this;
    for (const zone of this.#zones) {
      const there = this.#boundTo(ZONE_LABEL, zone);
      if (there.worstOf(count) < best.worstOf(count)) best = there;
    }
    return best;
  }

  #boundTo(label: string, value: string): Replacement {
    const requirements = this.#requirements.and(label, ValueSet.in([value]));
    const prices = this.#priced.under(requirements);
    const sold = this.#unordered.filter((type) => Number.isFinite(prices.cheapest(type)));
    return this.#with(sold, requirements);
  }

  /** Where the types are sold, in order. */
  get #zones(): readonly string[] {
    const allowed = this.#requirements.get(ZONE_LABEL);
    const sold = new Set(
      this.#unordered.flatMap(({ offerings }) =>
        offerings.flatMap((offering) => [...requirementsOf(offering).get(ZONE_LABEL).values]),
      ),
    );
    return [...sold].filter((zone) => allowed.has(zone)).sort();
  }

  /** USD per hour from which on so many types are left of which no launch costs more; infinite when there are fewer. */
  worstOf(count: number): number {
    const prices = this.#unordered.map((type) => this.#worst(type)).sort((x, y) => x - y);
    return prices[count - 1] ?? Number.POSITIVE_INFINITY;
  }

  /** The most that a node of the type can cost, everything included. */
  #worst(type: InstanceType): number {
    return this.#prices.worst(type) + (this.#planned.extrasUsdPerHour ?? 0);
  }

  /** The types of which every launch would cost less; or what is wrong with so few of them. */
  cheaperThan(usdPerHour: number): Replacement | string {
    const isOrdered = this.#ordered !== undefined;
    const kept = (this.#ordered ?? this.#unordered).filter((type) => this.#worst(type) < usdPerHour);
    const { unsatisfied } = satisfiesMinValues(kept, this.#requirements);
    return unsatisfied.length > 0 ? minValuesText(unsatisfied) : this.#with(kept, this.#requirements, isOrdered);
  }

  /** The cheapest types: this many, or more where `minValues` need more. */
  first(count: number): Replacement {
    const { needed } = satisfiesMinValues(this.types, this.#requirements);
    return this.#with(this.types.slice(0, Math.max(count, needed)), this.#requirements, true);
  }

  #with(types: readonly InstanceType[], requirements: Requirements, isOrdered = false): Replacement {
    return new Replacement(this.#planned, this.#priced, requirements, { types, isOrdered });
  }

  get claim(): PlannedClaim {
    this.#claim ??= this.#isNarrowed ? this.#narrowed() : this.#planned;
    return this.#claim;
  }

  #narrowed(): PlannedClaim {
    const instanceTypes = this.types.map(({ name }) => name);
    const best = this.#preferred();
    // of another type than before
    const { listUsdPerHour: _, coveredUsdPerHour: __, spotRiskUsdPerHour: ___, ...planned } = this.#planned;
    return {
      ...planned,
      instanceTypes,
      requirements: this.#requirements.and(INSTANCE_TYPE_LABEL, ValueSet.in(instanceTypes)).toApi(),
      cheapest: best?.type.name ?? instanceTypes[0] ?? '',
      // a price that is not known counts as none
      usdPerHour: best?.offering.usdPerHour ?? 0,
      ...(best?.offering.spotRiskUsdPerHour !== undefined && { spotRiskUsdPerHour: best.offering.spotRiskUsdPerHour }),
    };
  }

  /** The offering that is to be launched, by its price and spot risk; the first of equals. */
  #preferred(): { readonly type: InstanceType; readonly offering: Offering } | undefined {
    let best: { readonly type: InstanceType; readonly offering: Offering } | undefined;
    for (const type of this.types) {
      const offering = this.#prices.preferred(type);
      if (offering === undefined) continue;
      if (best === undefined || weighedUsdPerHour(offering) < weighedUsdPerHour(best.offering))
        best = { type, offering };
    }
    return best;
  }
}
