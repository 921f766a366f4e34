/** Units of capacity reservations that NodeClaims hold before their launch. */
import type { InstanceType, Offering, PoolInput } from '#engine/model';
import type { Requirements } from './requirements.ts';
import { requirementsOf, valuesAt } from './requirements.ts';
import { offered } from './templates.ts';

export const RESERVATION_ID = 'karpenter.k8s.aws/capacity-reservation-id';
export const CAPACITY_TYPE = 'karpenter.sh/capacity-type';

/** Returns the reservation of an offering, if it has one. */
function reservationOf({ requirements }: Offering): string | undefined {
  const own = requirementsOf(requirements);
  return valuesAt(own, CAPACITY_TYPE).listed.has('reserved') ? [...valuesAt(own, RESERVATION_ID).listed][0] : undefined;
}

export const hasReserved = (type: InstanceType, requirements: Requirements): boolean =>
  offered(type, requirements).some((offering) => reservationOf(offering) !== undefined);

export class Reservations {
  readonly #left = new Map<string, number>();
  readonly #isStrict: boolean;

  /** If NodePools disagree, the lowest remaining count is used. */
  constructor(pools: readonly PoolInput[], isStrict: boolean) {
    this.#isStrict = isStrict;
    for (const offering of pools.flatMap(({ instanceTypes }) => instanceTypes.flatMap(({ offerings }) => offerings))) {
      const id = reservationOf(offering);
      if (id === undefined) continue;
      this.#left.set(id, Math.min(this.#left.get(id) ?? Infinity, offering.reservationCapacity ?? 0));
    }
  }

  /** Returns the reservations that a NodeClaim would hold, or undefined if strict mode forbids a launch without one. */
  wanted(held: ReadonlySet<string>, types: readonly InstanceType[], place: Requirements) {
    const offerings = types.flatMap((type) => offered(type, place));
    const all = new Set(offerings.flatMap((each) => reservationOf(each) ?? []));
    const own = new Set([...all].filter((id) => held.has(id) || (this.#left.get(id) ?? 0) > 0));
    const isRefused = this.#isStrict && own.size === 0 && (all.size > 0 || held.size > 0);
    return isRefused ? undefined : own;
  }

  exchange(old: ReadonlySet<string>, held: ReadonlySet<string>): void {
    for (const id of held.difference(old)) this.#left.set(id, (this.#left.get(id) ?? 0) - 1);
    for (const id of old.difference(held)) this.#left.set(id, (this.#left.get(id) ?? 0) + 1);
  }
}
