/** Tracks the remaining units of capacity reservations during a solve. */
import { CAPACITY_RESERVATION_ID_LABEL } from '#api/objects';
import { isReserved, requirementsOf } from '../instance-types.ts';
import type { InstanceType, PoolInput, SolveOptions } from '../model.ts';
import { type ClaimState, Refusal } from './claim.ts';

export type ReservationIds = ReadonlySet<string>;

const NONE: ReservationIds = new Set();
const NOT_RESERVABLE =
  'one or more instance types with compatible reserved offerings are available, but could not be reserved';
const WOULD_LOSE = 'satisfying updated nodeclaim constraints would remove all compatible reserved offering options';

/** Not permanent, because another claim may release a reservation. */
const refused = (text: string): Refusal => new Refusal(() => ({ code: 'reserved-capacity', text }), false);

/** Cache of units. Lists of instance types are immutable, and many solves use them. */
const knownUnits = new WeakMap<readonly InstanceType[], ReadonlyMap<string, number>>();

/** Returns the units of each reservation: the lowest number in any offering. */
function unitsIn(types: readonly InstanceType[]): ReadonlyMap<string, number> {
  const known = knownUnits.get(types);
  if (known !== undefined) return known;
  const units = new Map<string, number>();
  for (const offering of types.flatMap(({ offerings }) => offerings)) {
    if (!isReserved(offering)) continue;
    for (const id of requirementsOf(offering).get(CAPACITY_RESERVATION_ID_LABEL).values)
      units.set(id, Math.min(units.get(id) ?? Number.POSITIVE_INFINITY, offering.reservationCapacity ?? 0));
  }
  knownUnits.set(types, units);
  return units;
}

/**
 * Remaining units of reservations. A claim holds a unit of every reservation into which it could be launched, because the actual
 * reservation is not known yet. In strict mode, a claim that could use reserved capacity must hold a reservation; in fallback
 * mode, this is optional.
 */
export class ReservedUnits {
  readonly #strict: boolean;
  /** Remaining units by reservation, starting with the lowest number in any offering. */
  readonly #left = new Map<string, number>();

  constructor(pools: readonly PoolInput[], mode: SolveOptions['reservedMode']) {
    this.#strict = mode === 'strict';
    if (mode === 'off') return;
    for (const types of new Set(pools.map(({ instanceTypes }) => instanceTypes))) {
      for (const [id, units] of unitsIn(types))
        this.#left.set(id, Math.min(this.#left.get(id) ?? Number.POSITIVE_INFINITY, units));
    }
  }

  /** Returns the reservations that a claim would hold in a state. If the claim must not enter this state, returns the reason. */
  reservable(state: ClaimState, held: ReservationIds = NONE): ReservationIds | Refusal {
    if (this.#left.size === 0) return NONE;
    const compatible = this.#idsOf(state);
    const reservable = new Set([...compatible].filter((id) => held.has(id) || (this.#left.get(id) ?? 0) > 0));
    if (!this.#strict || reservable.size > 0) return reservable;
    if (compatible.size > 0) return refused(NOT_RESERVABLE);
    return held.size > 0 ? refused(WOULD_LOSE) : NONE;
  }

  /** Acquires units of the new reservations and releases units that are no longer held. */
  exchange(held: ReservationIds, wanted: ReservationIds): void {
    for (const id of wanted) if (!held.has(id)) this.#left.set(id, (this.#left.get(id) ?? 0) - 1);
    for (const id of held) if (!wanted.has(id)) this.#left.set(id, (this.#left.get(id) ?? 0) + 1);
  }

  /** Returns a function that restores the remaining units. */
  restorePoint(): () => void {
    const left = [...this.#left];
    return () => {
      for (const [id, units] of left) this.#left.set(id, units);
    };
  }

  /** True if there are no reservations, so that no claim can hold one. */
  get areNone(): boolean {
    return this.#left.size === 0;
  }

  /** Returns the reservations into which some of the state's instance types could be launched. */
  #idsOf({ choice, template }: ClaimState): ReservationIds {
    return choice.computeOnce('reservations', () => {
      const { reservations } = choice.shape.offerings;
      const types = template.catalogue.typesOf(choice.rows);
      return new Set(types.flatMap((type) => [...(reservations.get(type) ?? NONE)]));
    });
  }
}
