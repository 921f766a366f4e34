/** Which instance types a launch asks for: a chain of filters, then the cheapest. */
import {
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_SIZE_LABEL,
  ZONE_LABEL,
} from '../../api/labels.ts';
import { allocatable, compatibleOfferings, orderByPrice, requirementsOf } from '../../engine/instance-types.ts';
import type { InstanceType, Offering, Resources } from '../../engine/model.ts';
import { LOOSE, type Requirements } from '../../engine/requirements.ts';
import { amountIn, fits } from '../../engine/resources.ts';
import { ValueSet } from '../../engine/value-set.ts';
import { EXOTIC_RESOURCES } from '../instancetypes/capacity.ts';

export interface LaunchRequirements {
  readonly requirements: Requirements;
  readonly requests: Resources;
}

/** EC2 takes no more per request. */
export const MAX_FLEET_TYPES = 60;

type Filter = (types: readonly InstanceType[], launch: LaunchRequirements) => readonly InstanceType[];

const hasMinValues = ({ requirements }: LaunchRequirements): boolean =>
  [...requirements.entries()].some(([, set]) => set.minValues !== undefined);
const allows = ({ requirements }: LaunchRequirements, capacityType: string): boolean =>
  requirements.get(CAPACITY_TYPE_LABEL).has(capacityType);
const capacityTypeOf = (offering: Offering): string => requirementsOf(offering).get(CAPACITY_TYPE_LABEL).any();

/** Per requirements and type: launches that come together ask for the same again and again. */
const usableOf = new WeakMap<Requirements, WeakMap<InstanceType, readonly Offering[]>>();

/** Offerings that can be bought and that the launch allows; none where it excludes the type. */
function usable(type: InstanceType, { requirements }: LaunchRequirements): readonly Offering[] {
  const known = usableOf.get(requirements) ?? new WeakMap<InstanceType, readonly Offering[]>();
  usableOf.set(requirements, known);
  let offerings = known.get(type);
  if (offerings === undefined) {
    const allowed = requirements.compatible(requirementsOf(type), LOOSE);
    offerings = allowed ? compatibleOfferings(type, requirements) : [];
    known.set(type, offerings);
  }
  return offerings;
}

const plainAllocatable = new WeakMap<InstanceType, Resources>();

function allocatableOf(type: InstanceType): Resources {
  const known = plainAllocatable.get(type) ?? allocatable(type);
  plainAllocatable.set(type, known);
  return known;
}

const usableReserved = (type: InstanceType, launch: LaunchRequirements): readonly Offering[] =>
  usable(type, launch).filter((offering) => capacityTypeOf(offering) === 'reserved');

function holds(type: InstanceType, launch: LaunchRequirements): boolean {
  return usable(type, launch).some((offering) => {
    const overridden = offering.capacityOverride !== undefined || offering.overheadOverride !== undefined;
    return fits(launch.requests, overridden ? allocatable(type, offering) : allocatableOf(type));
  });
}

const compatibleAndAvailable: Filter = (types, launch) => types.filter((type) => holds(type, launch));

/** Kinds of reservations, the preferred first. */
const RESERVATION_KINDS = ['default/false', 'capacity-block/false', 'default/true'];

function reservationKind(offering: Offering): string {
  const requirements = requirementsOf(offering);
  const type = requirements.get(CAPACITY_RESERVATION_TYPE_LABEL).any();
  return `${type}/${requirements.get(CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL).any()}`;
}

/** A request can use one kind of reservation only: that of the cheapest offering. */
const oneReservationKind: Filter = (types, launch) => {
  if (!allows(launch, 'reserved')) return types;
  const cheapest = (kind: string): number =>
    Math.min(
      ...types.flatMap((type) =>
        usableReserved(type, launch)
          .filter((offering) => reservationKind(offering) === kind)
          .map((offering) => offering.usdPerHour),
      ),
    );
  const [best] = RESERVATION_KINDS.map((kind) => ({ kind, price: cheapest(kind) })).sort((a, b) => a.price - b.price);
  if (best === undefined || best.price === Number.POSITIVE_INFINITY) return types;
  return types
    .filter((type) => usableReserved(type, launch).some((offering) => reservationKind(offering) === best.kind))
    .map((type) => ({
      ...type,
      offerings: type.offerings.filter(
        (offering) => capacityTypeOf(offering) === 'reserved' && reservationKind(offering) === best.kind,
      ),
    }));
};

/** A capacity block is launched into alone; one that cannot take the launch leaves the other offerings. */
const oneCapacityBlock: Filter = (types, launch) => {
  if (!allows(launch, 'reserved')) return types;
  const first = types.flatMap((type) => type.offerings).find((offering) => capacityTypeOf(offering) === 'reserved');
  if (first === undefined || !reservationKind(first).startsWith('capacity-block')) return types;
  const blocks = types.flatMap((type) => usableReserved(type, launch).map((offering) => ({ type, offering })));
  const [best] = blocks.sort((a, b) => a.offering.usdPerHour - b.offering.usdPerHour);
  return best === undefined ? types : [{ ...best.type, offerings: [best.offering] }];
};

/** Of several reservations of a type in a zone, the one with the most instances left. */
const largestReservations: Filter = (types, launch) => {
  if (!allows(launch, 'reserved')) return types;
  const kept = types.flatMap((type) => {
    const largest = new Map<string, Offering>();
    for (const offering of usableReserved(type, launch)) {
      const zone = requirementsOf(offering).get(ZONE_LABEL).any();
      const known = largest.get(zone);
      if (known === undefined || (offering.reservationCapacity ?? 0) > (known.reservationCapacity ?? 0))
        largest.set(zone, offering);
    }
    return largest.size === 0 ? [] : [{ ...type, offerings: [...largest.values()] }];
  });
  return kept.length === 0 ? types : kept;
};

const isGeneric = (type: InstanceType): boolean =>
  !requirementsOf(type).get(INSTANCE_SIZE_LABEL).any().includes('metal') &&
  EXOTIC_RESOURCES.every((resource) => amountIn(type.capacity, resource) === 0);

/** Bare metal and accelerators only where nothing plainer is left. */
const genericFirst: Filter = (types, launch) => {
  if (hasMinValues(launch)) return types;
  const generic = types.filter(isGeneric);
  return generic.length > 0 ? generic : types;
};

/** Spot that costs more than the cheapest on-demand is no bargain. */
const cheapSpot: Filter = (types, launch) => {
  if (hasMinValues(launch) || !allows(launch, 'spot') || !allows(launch, 'on-demand')) return types;
  const offerings = types.flatMap((type) => usable(type, launch));
  const onDemand = offerings.filter((each) => capacityTypeOf(each) === 'on-demand').map((each) => each.usdPerHour);
  if (onDemand.length === 0 || !offerings.some((each) => capacityTypeOf(each) === 'spot')) return types;
  const ceiling = Math.min(...onDemand);
  const isCheap = (offering: Offering): boolean =>
    capacityTypeOf(offering) !== 'spot' || offering.usdPerHour <= ceiling;
  return types
    .map((type) => (type.offerings.every(isCheap) ? type : { ...type, offerings: type.offerings.filter(isCheap) }))
    .filter((type) => type.offerings.length > 0);
};

/** In order. Names are what the log shows. */
const CHAIN: readonly (readonly [name: string, filter: Filter])[] = [
  ['compatible-available-filter', compatibleAndAvailable],
  ['capacity-reservation-type-filter', oneReservationKind],
  ['capacity-block-filter', oneCapacityBlock],
  ['reserved-offering-filter', largestReservations],
  ['exotic-instance-filter', genericFirst],
  ['spot-offering-filter', cheapSpot],
];

export interface Rejection {
  readonly filter: string;
  readonly names: readonly string[];
}

/** The types to ask for, cheapest first, and what each filter after the first took out. */
export function filterForLaunch(
  types: readonly InstanceType[],
  launch: LaunchRequirements,
): { readonly types: readonly InstanceType[]; readonly rejections: readonly Rejection[] } {
  let left = types;
  const rejections: Rejection[] = [];
  for (const [at, [filter, apply]] of CHAIN.entries()) {
    const kept = apply(left, launch);
    const names = new Set(kept.map((type) => type.name));
    const rejected = left.filter((type) => !names.has(type.name)).map((type) => type.name);
    if (at > 0 && rejected.length > 0) rejections.push({ filter, names: rejected });
    left = kept;
  }
  return { types: orderByPrice(left, launch.requirements), rejections };
}

/** Reserved before spot before on-demand, where something of it can be bought. */
export function chooseCapacityType(types: readonly InstanceType[], launch: LaunchRequirements): string {
  const preferred = ['reserved', 'spot'].find((capacityType) => {
    if (!allows(launch, capacityType)) return false;
    const narrowed = launch.requirements.with(CAPACITY_TYPE_LABEL, ValueSet.in([capacityType]));
    return types.some((type) => compatibleOfferings(type, narrowed).length > 0);
  });
  return preferred ?? 'on-demand';
}
