/** Narrowing a replacement to instance types that are worth the move. */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL } from '../../api/labels.ts';
import {
  cheapestPrice,
  compatibleOfferings,
  minValuesText,
  orderByPrice,
  satisfiesMinValues,
  worstLaunchPrice,
} from '../instancetypes.ts';
import type { InstanceType, PlannedClaim } from '../model.ts';
import { Requirements } from '../requirements.ts';
import { ValueSet } from '../valueset.ts';

/** A planned claim with the types behind its names, cheapest first. */
export class Replacement {
  readonly claim: PlannedClaim;
  readonly types: readonly InstanceType[];
  readonly #requirements: Requirements;

  private constructor(claim: PlannedClaim, types: readonly InstanceType[], requirements: Requirements) {
    this.claim = claim;
    this.types = types;
    this.#requirements = requirements;
  }

  static of(claim: PlannedClaim, known: readonly InstanceType[]): Replacement {
    const requirements = Requirements.fromRequirements(claim.requirements);
    const names = new Set(claim.instanceTypes);
    const types = orderByPrice(
      known.filter(({ name }) => names.has(name)),
      requirements,
    );
    return new Replacement(claim, types, requirements);
  }

  admits(capacityType: string): boolean {
    return this.#requirements.get(CAPACITY_TYPE_LABEL).has(capacityType);
  }

  /** Bound to one capacity type, with the types that are sold under it now. */
  only(capacityType: string): Replacement {
    const requirements = this.#requirements.and(CAPACITY_TYPE_LABEL, ValueSet.in([capacityType]));
    const sold = this.types.filter((type) => compatibleOfferings(type, requirements).length > 0);
    return this.#with(orderByPrice(sold, requirements), requirements);
  }

  /** The types of which every launch would cost less; or what is wrong with so few of them. */
  cheaperThan(usdPerHour: number): Replacement | string {
    const kept = this.types.filter((type) => worstLaunchPrice(type, this.#requirements) < usdPerHour);
    const { unsatisfied } = satisfiesMinValues(kept, this.#requirements);
    return unsatisfied.length > 0 ? minValuesText(unsatisfied) : this.#with(kept, this.#requirements);
  }

  /** The cheapest types: this many, or more where `minValues` need more. */
  first(count: number): Replacement {
    const { needed } = satisfiesMinValues(this.types, this.#requirements);
    return this.#with(this.types.slice(0, Math.max(count, needed)), this.#requirements);
  }

  #with(types: readonly InstanceType[], requirements: Requirements): Replacement {
    const names = types.map(({ name }) => name);
    const narrowed = requirements.and(INSTANCE_TYPE_LABEL, ValueSet.in(names));
    const [cheapest] = types;
    const claim: PlannedClaim = {
      ...this.claim,
      instanceTypes: names,
      requirements: narrowed.toApi(),
      cheapest: cheapest?.name ?? '',
      usdPerHour: cheapest === undefined ? 0 : finite(cheapestPrice(cheapest, narrowed)),
    };
    return new Replacement(claim, types, narrowed);
  }
}

/** A price that is not known counts as none. */
const finite = (usdPerHour: number): number => (Number.isFinite(usdPerHour) ? usdPerHour : 0);
