/** What is left of capacity reservations while a solve hands it out. */
import { CAPACITY_RESERVATION_ID_LABEL } from '../../api/labels.ts';
import { isReserved, requirementsOf } from '../instance-types.ts';
import type { InstanceType, PoolInput, SolveOptions } from '../model.ts';
import { type ClaimState, Refusal } from './claim.ts';

export type ReservationIds = ReadonlySet<string>;

const NONE: ReservationIds = new Set();
const NOT_RESERVABLE =
  'one or more instance types with compatible reserved offerings are available, but could not be reserved';
const WOULD_LOSE = 'satisfying updated nodeclaim constraints would remove all compatible reserved offering options';

/** Not permanent: another claim may give a reservation back. */
const refused = (text: string): Refusal => new Refusal(() => ({ code: 'reserved-capacity', text }), false);

/** Lists of instance types never change, and are used by many solves. */
const knownUnits = new WeakMap<readonly InstanceType[], ReadonlyMap<string, number>>();

/** Units by reservation: the least that any offering states. */
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
 * A claim holds a unit of every reservation that it could be launched into, because it is not known which one it will be.
 * In strict mode a claim that could use reserved capacity must have some; in fallback mode it may do without.
 */
export class ReservedUnits {
  readonly #strict: boolean;
  /** Units left by reservation: the least that any offering states. */
  readonly #left = new Map<string, number>();

  constructor(pools: readonly PoolInput[], mode: SolveOptions['reservedMode']) {
    this.#strict = mode === 'strict';
    if (mode === 'off') return;
    for (const types of new Set(pools.map(({ instanceTypes }) => instanceTypes))) {
      for (const [id, units] of unitsIn(types))
        this.#left.set(id, Math.min(this.#left.get(id) ?? Number.POSITIVE_INFINITY, units));
    }
  }

  /** The reservations that a claim would hold in a state; or why it may not take that state. */
  reservable(state: ClaimState, held: ReservationIds = NONE): ReservationIds | Refusal {
    if (this.#left.size === 0) return NONE;
    const compatible = this.#idsOf(state);
    const reservable = new Set([...compatible].filter((id) => held.has(id) || (this.#left.get(id) ?? 0) > 0));
    if (!this.#strict || reservable.size > 0) return reservable;
    if (compatible.size > 0) return refused(NOT_RESERVABLE);
    return held.size > 0 ? refused(WOULD_LOSE) : NONE;
  }

  /** Takes what is new and gives back what is held no more. */
  exchange(held: ReservationIds, wanted: ReservationIds): void {
    for (const id of wanted) if (!held.has(id)) this.#left.set(id, (this.#left.get(id) ?? 0) - 1);
    for (const id of held) if (!wanted.has(id)) this.#left.set(id, (this.#left.get(id) ?? 0) + 1);
  }

  /** Whether there are none: no claim ever holds one then. */
  get areNone(): boolean {
    return this.#left.size === 0;
  }

  /** Reservations into which some of the state's instance types could be launched. */
  #idsOf({ choice, template }: ClaimState): ReservationIds {
    return choice.computeOnce('reservations', () => {
      const { reservations } = choice.shape.offerings;
      const types = template.catalogue.typesOf(choice.rows);
      return new Set(types.flatMap((type) => [...(reservations.get(type) ?? NONE)]));
    });
  }
}
