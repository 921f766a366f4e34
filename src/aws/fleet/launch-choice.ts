/**
 * Chooses the content of a launch request: the cheapest instance types after a chain of filters, their offerings and
 * capacity type.
 */
import type { FleetLaunchTemplateOverridesRequest } from '@aws-sdk/client-ec2';
import { LRUCache } from 'lru-cache';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_SIZE_LABEL,
  type NodeClaim,
  ZONE_LABEL,
} from '#api/objects';
import { surplusUsdPerHour } from '#engine/costs';
import {
  allocatable,
  amountIn,
  compatibleOfferings,
  fits,
  type InstanceType,
  LOOSE,
  type Offering,
  orderByPrice,
  Requirements,
  type Resources,
  requirementsOf,
  resourcesOf,
  ValueSet,
  weighedUsdPerHour,
} from '#engine/model';
import { remembering } from '#lib';
import { EXOTIC_RESOURCES } from '../instancetypes/capacity.ts';
import type { TemplateReservation } from '../launchtemplates/content.ts';
import type { TemplateConfig } from '../launchtemplates/launchtemplates.ts';
import type { ZonalSubnet } from '../subnets/subnets.ts';

export interface LaunchRequirements {
  readonly requirements: Requirements;
  readonly requests: Resources;
}

/** Maximum number of instance types in one request. */
export const MAX_FLEET_TYPES = 60;

type Filter = (types: readonly InstanceType[], launch: LaunchRequirements) => readonly InstanceType[];

const hasMinValues = ({ requirements }: LaunchRequirements): boolean =>
  [...requirements.entries()].some(([, set]) => set.minValues !== undefined);
const allows = ({ requirements }: LaunchRequirements, capacityType: string): boolean =>
  requirements.get(CAPACITY_TYPE_LABEL).has(capacityType);
const capacityTypeOf = (offering: Offering): string => requirementsOf(offering).get(CAPACITY_TYPE_LABEL).any();

/** Cached, because the filters and launches with equal requirements read the same offerings many times. */
const usableFor = remembering((requirements: Requirements) =>
  remembering((type: InstanceType): readonly Offering[] =>
    requirements.compatible(requirementsOf(type), LOOSE) ? compatibleOfferings(type, requirements) : [],
  ),
);

/** Returns the available offerings that the launch allows. Returns none if the launch excludes the type. */
const usable = (type: InstanceType, { requirements }: LaunchRequirements): readonly Offering[] =>
  usableFor(requirements)(type);

const allocatableOf = remembering((type: InstanceType): Resources => allocatable(type));

const usableReserved = (type: InstanceType, launch: LaunchRequirements): readonly Offering[] =>
  usable(type, launch).filter((offering) => capacityTypeOf(offering) === 'reserved');

function holds(type: InstanceType, launch: LaunchRequirements): boolean {
  return usable(type, launch).some((offering) => {
    const overridden = offering.capacityOverride !== undefined || offering.overheadOverride !== undefined;
    return fits(launch.requests, overridden ? allocatable(type, offering) : allocatableOf(type));
  });
}

const compatibleAndAvailable: Filter = (types, launch) => types.filter((type) => holds(type, launch));

/** Kinds of reservations in order of preference. */
const RESERVATION_KINDS = ['default/false', 'capacity-block/false', 'default/true'];

function reservationKind(offering: Offering): string {
  const requirements = requirementsOf(offering);
  const type = requirements.get(CAPACITY_RESERVATION_TYPE_LABEL).any();
  return `${type}/${requirements.get(CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL).any()}`;
}

/** Keeps one kind of reservation, that of the cheapest offering, because a request can use only one kind. */
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

/** Keeps only the cheapest capacity block. Keeps all offerings if no capacity block can take the launch. */
const oneCapacityBlock: Filter = (types, launch) => {
  if (!allows(launch, 'reserved')) return types;
  const first = types.flatMap((type) => type.offerings).find((offering) => capacityTypeOf(offering) === 'reserved');
  if (first === undefined || !reservationKind(first).startsWith('capacity-block')) return types;
  const blocks = types.flatMap((type) => usableReserved(type, launch).map((offering) => ({ type, offering })));
  const [best] = blocks.sort((a, b) => a.offering.usdPerHour - b.offering.usdPerHour);
  return best === undefined ? types : [{ ...best.type, offerings: [best.offering] }];
};

/** Keeps one reservation for each type and zone: the one with the most instances left. */
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

/** Removes bare metal and accelerators, unless there are no other types. */
const genericFirst: Filter = (types, launch) => {
  if (hasMinValues(launch)) return types;
  const generic = types.filter(isGeneric);
  return generic.length > 0 ? generic : types;
};

/** Removes spot offerings that cost more than the cheapest on-demand offering. */
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

/** Filters in order, with their names in the log. */
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

/** Returns the types to request, cheapest first, and the types that each filter after the first removed. */
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
  return { types: orderByPrice(left, launch.requirements, amountIn(launch.requests, 'cpu')), rejections };
}

/** Returns the first capacity type with an available offering: reserved, then spot, then on-demand. */
export function chooseCapacityType(types: readonly InstanceType[], launch: LaunchRequirements): string {
  const preferred = ['reserved', 'spot'].find((capacityType) => {
    if (!allows(launch, capacityType)) return false;
    const narrowed = launch.requirements.with(CAPACITY_TYPE_LABEL, ValueSet.in([capacityType]));
    return types.some((type) => compatibleOfferings(type, narrowed).length > 0);
  });
  return preferred ?? 'on-demand';
}

/** Number of distinct launches in the cache. Each needs about 65 KiB in a region with 800 instance types. */
export const LAUNCHES_KEPT = 32;

type LaunchChoice = ReturnType<typeof filterForLaunch>;

/** Cache of recent choices, because NodeClaims that are launched together mostly have the same requirements. */
export class LaunchChoices {
  /** One object for all NodeClaims with equal requirements, because derived values are cached per object. */
  readonly #requirements = new LRUCache<string, Requirements>({ max: LAUNCHES_KEPT });
  readonly #choices = new LRUCache<string, LaunchChoice>({ max: LAUNCHES_KEPT });
  #offered: readonly InstanceType[] | undefined;

  get size(): number {
    return Math.max(this.#requirements.size, this.#choices.size);
  }

  clear(): void {
    this.#requirements.clear();
    this.#choices.clear();
  }

  requirementsOf({ spec }: NodeClaim): LaunchRequirements {
    const key = JSON.stringify(spec.requirements);
    const requirements = this.#requirements.get(key) ?? Requirements.fromRequirements(spec.requirements);
    this.#requirements.set(key, requirements);
    return { requirements, requests: resourcesOf(spec.resources?.requests) };
  }

  /** Returns the filtered instance types. `offered` must be a new object after each change of the list. */
  choose({ spec }: NodeClaim, offered: readonly InstanceType[], required: LaunchRequirements): LaunchChoice {
    if (this.#offered !== offered) this.#choices.clear();
    this.#offered = offered;
    const key = JSON.stringify([spec.requirements, required.requests]);
    const choice = this.#choices.get(key) ?? filterForLaunch(offered, required);
    this.#choices.set(key, choice);
    return choice;
  }
}

/**
 * Returns one override for each type and zone with a subnet. The priority is the price including the spot risk and surplus CPU
 * credits.
 */
export function overridesOf(
  config: TemplateConfig,
  { requirements, requests }: LaunchRequirements,
  capacityType: string,
  subnets: ReadonlyMap<string, ZonalSubnet>,
): FleetLaunchTemplateOverridesRequest[] {
  let narrowed = requirements.with(CAPACITY_TYPE_LABEL, ValueSet.in([capacityType]));
  if (config.reservation !== undefined)
    narrowed = narrowed.with(CAPACITY_RESERVATION_ID_LABEL, ValueSet.in([config.reservation.id]));
  return config.types.flatMap((type) => {
    const surplusUsd = surplusUsdPerHour(type, amountIn(requests, 'cpu'));
    const zones = new Set<string>();
    return compatibleOfferings(type, narrowed).flatMap((offering) => {
      const zone = requirementsOf(offering).get(ZONE_LABEL).any();
      const subnet = subnets.get(zone);
      // partitions of a placement group repeat type and zone
      if (subnet === undefined || zones.has(zone)) return [];
      zones.add(zone);
      return [
        {
          InstanceType: type.name as NonNullable<FleetLaunchTemplateOverridesRequest['InstanceType']>,
          SubnetId: subnet.id,
          ImageId: config.imageId,
          AvailabilityZone: zone,
          Priority: weighedUsdPerHour(offering) + surplusUsd,
        },
      ];
    });
  });
}

/** Returns the reservation of the type in the zone. A launch has at most one. */
export const reservationFor = (
  configs: readonly TemplateConfig[],
  instanceType: string,
  zone: string,
): TemplateReservation | undefined =>
  configs.find(({ types, reservation }) =>
    types.some(
      ({ name, offerings }) =>
        name === instanceType &&
        offerings
          .map(requirementsOf)
          .some(
            (offering) =>
              offering.get(ZONE_LABEL).has(zone) &&
              offering.get(CAPACITY_RESERVATION_ID_LABEL).any() === reservation?.id,
          ),
    ),
  )?.reservation;

/**
 * Returns true if discounts, spot risks or surplus CPU credits change the order of the offerings. AWS chooses by list prices
 * unless the request has priorities.
 */
export function isReordered(
  types: readonly InstanceType[],
  { requirements, requests }: LaunchRequirements,
  capacityType: string,
): boolean {
  const cpu = amountIn(requests, 'cpu');
  if (!types.some((type) => surplusUsdPerHour(type, cpu) > 0 || type.offerings.some(isOtherThanListed))) return false;
  const narrowed = requirements.with(CAPACITY_TYPE_LABEL, ValueSet.in([capacityType]));
  const listPrices = types
    .flatMap((type) =>
      compatibleOfferings(type, narrowed).map((offering) => ({
        weighed: weighedUsdPerHour(offering) + surplusUsdPerHour(type, cpu),
        listUsdPerHour: offering.listUsdPerHour ?? offering.usdPerHour,
      })),
    )
    .sort((a, b) => a.weighed - b.weighed || a.listUsdPerHour - b.listUsdPerHour)
    .map(({ listUsdPerHour }) => listUsdPerHour);
  return listPrices.some((price, at) => price < (listPrices[at - 1] ?? 0));
}

const isOtherThanListed = ({ listUsdPerHour, spotRiskUsdPerHour }: Offering): boolean =>
  listUsdPerHour !== undefined || spotRiskUsdPerHour !== undefined;
