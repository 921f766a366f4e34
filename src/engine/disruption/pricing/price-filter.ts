/** Narrows a replacement to the instance types that justify the move. */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import { surplusUsdPerHour } from '../../cpu-burst.ts';
import {
  compareText,
  minValuesText,
  requirementsOf,
  satisfiesMinValues,
  weighedUsdPerHour,
} from '../../instance-types.ts';
import type { InstanceType, Offering, PlannedClaim } from '../../model.ts';
import { Requirements } from '../../requirements.ts';
import { amountIn } from '../../resources.ts';
import { ValueSet } from '../../value-set.ts';
import { PricedTypes, type PriceTable } from '../price-table.ts';

/** Planned claim with its instance types. Computes values lazily, because most claims are discarded early. */
export class Replacement {
  readonly #planned: PlannedClaim;
  readonly #isNarrowed: boolean;
  readonly #priced: PricedTypes;
  readonly #prices: PriceTable;
  readonly #requirements: Requirements;
  /** Types in any order. */
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

  /** Creates a replacement from a claim that was narrowed before. Its types keep their order. */
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

  /** Types, cheapest first. */
  get types(): readonly InstanceType[] {
    this.#ordered ??= this.#unordered
      .map((type) => ({ type, price: this.#prices.cheapest(type) + this.#surplus(type) }))
      .sort((a, b) => (a.price === b.price ? compareText(a.type.name, b.type.name) : a.price - b.price))
      .map(({ type }) => type);
    return this.#ordered;
  }

  admits(capacityType: string): boolean {
    return this.#requirements.get(CAPACITY_TYPE_LABEL).has(capacityType);
  }

  /**
   * Returns this replacement with one capacity type, and with the types that are available under this capacity type
   * now.
   */
  only(capacityType: string): Replacement {
    return this.#boundTo(CAPACITY_TYPE_LABEL, capacityType);
  }

  /**
   * Returns this replacement with spot only if it admits both spot and on-demand. Keeps all types and their order. As
   * in Karpenter, does not check again the availability as spot or `minValues`.
   */
  spotAlone(): Replacement {
    if (!this.admits('spot') || !this.admits('on-demand')) return this;
    const requirements = this.#requirements.and(CAPACITY_TYPE_LABEL, ValueSet.in(['spot']));
    return this.#with(this.types, requirements, true);
  }

  /**
   * Returns this replacement with only one of spot and on-demand, and with the types for which every launch would cost
   * less, because a failed spot launch must not fall back to a more expensive on-demand node. Uses on-demand if spot is
   * unavailable or has too few types for `minValues`, because a claim for spot would then find no offering. If both
   * fail, returns the text of the error. If neither is available but reserved is, returns the replacement unchanged.
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

  /**
   * Returns this replacement with only the zone for which `worstOf` is lowest. If the zones do not differ, returns the
   * replacement unchanged.
   */
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

  /** Zones in which the types are available, sorted. */
  get #zones(): readonly string[] {
    const allowed = this.#requirements.get(ZONE_LABEL);
    const sold = new Set(
      this.#unordered.flatMap(({ offerings }) =>
        offerings.flatMap((offering) => [...requirementsOf(offering).get(ZONE_LABEL).values]),
      ),
    );
    return [...sold].filter((zone) => allowed.has(zone)).sort();
  }

  /**
   * Returns the price limit in USD per hour within which `count` types remain even at their highest launch price. Returns
   * Infinity if there are fewer types.
   */
  worstOf(count: number): number {
    const prices = this.#unordered.map((type) => this.#worst(type)).sort((x, y) => x - y);
    return prices[count - 1] ?? Number.POSITIVE_INFINITY;
  }

  /** Returns the highest full cost of a node of the type. */
  #worst(type: InstanceType): number {
    return this.#prices.worst(type) + this.#surplus(type) + (this.#planned.extrasUsdPerHour ?? 0);
  }

  /** Returns the price of the surplus CPU for the requests, in USD per hour. */
  #surplus(type: InstanceType): number {
    return surplusUsdPerHour(type, amountIn(this.#planned.requests, 'cpu'));
  }

  /**
   * Returns this replacement with the types for which every launch would cost less. Returns a text if these types do
   * not satisfy `minValues`.
   */
  cheaperThan(usdPerHour: number): Replacement | string {
    const isOrdered = this.#ordered !== undefined;
    const kept = (this.#ordered ?? this.#unordered).filter((type) => this.#worst(type) < usdPerHour);
    const { unsatisfied } = satisfiesMinValues(kept, this.#requirements);
    return unsatisfied.length > 0 ? minValuesText(unsatisfied) : this.#with(kept, this.#requirements, isOrdered);
  }

  /** Returns this replacement with the `count` cheapest types, or with more if `minValues` requires more. */
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
    // these fields belong to the previous type
    const {
      listUsdPerHour: _,
      coveredUsdPerHour: __,
      spotRiskUsdPerHour: ___,
      surplusUsdPerHour: ____,
      ...planned
    } = this.#planned;
    const surplusUsd = best === undefined ? 0 : this.#surplus(best.type);
    return {
      ...planned,
      instanceTypes,
      requirements: this.#requirements.and(INSTANCE_TYPE_LABEL, ValueSet.in(instanceTypes)).toApi(),
      cheapest: best?.type.name ?? instanceTypes[0] ?? '',
      // an unknown price counts as 0
      usdPerHour: best?.offering.usdPerHour ?? 0,
      ...(surplusUsd > 0 && { surplusUsdPerHour: surplusUsd }),
      ...(best?.offering.spotRiskUsdPerHour !== undefined && { spotRiskUsdPerHour: best.offering.spotRiskUsdPerHour }),
    };
  }

  /** Returns the offering that should be launched, by its price and spot risk. For equal offerings, returns the first. */
  #preferred(): { readonly type: InstanceType; readonly offering: Offering } | undefined {
    let best: { readonly type: InstanceType; readonly offering: Offering; readonly usd: number } | undefined;
    for (const type of this.types) {
      const offering = this.#prices.preferred(type);
      if (offering === undefined) continue;
      const usd = weighedUsdPerHour(offering) + this.#surplus(type);
      if (best === undefined || usd < best.usd) best = { type, offering, usd };
    }
    return best;
  }
}
