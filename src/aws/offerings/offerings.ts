/** Offerings of an instance type: zones × capacity types, and reservations. */

import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  PLACEMENT_GROUP_PARTITION_LABEL,
  ZONE_ID_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import { type InstanceType, type Offering, type Requirement, sharedRequirements } from '#engine/model';
import { defined } from '#lib';
import type { PlacementGroup } from '../placementgroups.ts';
import { type DiscountedPrice, offeringPrices } from '../pricing/book-entries.ts';
import type { CapacityReservation } from '../reservations/reservations.ts';
import type { Zone } from '../subnets/zones.ts';
import type { OfferingKey, Shortage } from './unavailable.ts';

export interface OfferingContext {
  /** Every zone of the region with an offered type. */
  readonly allZones: readonly string[];
  readonly zones: readonly Zone[];
  readonly offeredIn: ReadonlySet<string>;
  /** True if the NodeClass can be launched on the type. */
  readonly launchable: boolean;
  readonly placementGroup: PlacementGroup | undefined;
  readonly onDemandPrice: (instanceType: string) => number | undefined;
  readonly spotPrice: (instanceType: string, zone: string) => number | undefined;
  /** Returns the price that a NodeOverlay sets for a type without an AWS price. */
  readonly overlayPrice?: ((instanceType: string) => number | undefined) | undefined;
  /** Applies the discounts of the price book to a list price. If undefined, list prices apply. */
  readonly discounted?: DiscountedPrice | undefined;
  /**
   * Returns the part of the spot price that is added as the expected cost of interruptions. If undefined, nothing is
   * added.
   */
  readonly spotRisk?: ((instanceType: string, zone: string) => number) | undefined;
  readonly shortage: (offering: OfferingKey, subnetIds: readonly string[]) => Shortage | undefined;
  /** Returns the end of the zonal shift by zone ID, or undefined if the zone is not shifted. */
  readonly shiftedUntil?: ((zoneId: string) => number | undefined) | undefined;
}

/** Reasons why an offering cannot be launched now. docs/reference/formats/codes.md has a row for each. */
export const OBSTACLES = [
  // lasting
  'not-offered',
  'no-subnet',
  'incompatible',
  // temporary
  'zonal-shift',
  'insufficient-capacity',
  'capacity-type-refused',
  'subnets-full',
  'no-spot-price',
  'no-on-demand-price',
  'reservation-used-up',
  'reservation-expiring',
] as const;
export type ObstacleCode = (typeof OBSTACLES)[number];

export interface Obstacle {
  readonly code: ObstacleCode;
  /** Error code of AWS. */
  readonly reason?: string;
  /** Time at which this offering is tried again. Undefined if it is unknown. */
  readonly untilMs?: number;
}

/** Offering with the obstacle that prevents its launch. */
export interface OfferingEntry {
  readonly offering: Offering;
  readonly obstacle: Obstacle | undefined;
}

/** Instance type with its offerings. The partitions of a placement group are combined. */
export interface Surveyed {
  readonly type: InstanceType;
  readonly entries: readonly OfferingEntry[];
}

const LASTING: ReadonlySet<ObstacleCode> = new Set(['not-offered', 'no-subnet', 'incompatible']);
/** Returns true if the obstacle persists until the NodeClass or AWS's offering changes. */
export const isLasting = ({ code }: Obstacle): boolean => LASTING.has(code);

function availabilityOf(obstacle: Obstacle | undefined): Pick<Offering, 'available' | 'outage'> {
  if (obstacle === undefined) return { available: true };
  const { reason, untilMs } = obstacle;
  return reason === undefined ? { available: false } : { available: false, outage: defined({ reason, untilMs }) };
}

const NOT_OFFERED: Obstacle = { code: 'not-offered' };
const NO_SUBNET: Obstacle = { code: 'no-subnet' };
const INCOMPATIBLE: Obstacle = { code: 'incompatible' };
const NO_SPOT_PRICE: Obstacle = { code: 'no-spot-price' };
const NO_ON_DEMAND_PRICE: Obstacle = { code: 'no-on-demand-price' };

const SHORT_CODES: Readonly<Record<Shortage['of'], ObstacleCode>> = {
  offering: 'insufficient-capacity',
  'capacity-type': 'capacity-type-refused',
  subnets: 'subnets-full',
};

/** Returns the obstacle for all offerings of a zone. */
function zoneObstacle(zone: string, known: Zone | undefined, context: OfferingContext): Obstacle | undefined {
  if (!context.offeredIn.has(zone)) return NOT_OFFERED;
  if (known === undefined) return NO_SUBNET;
  if (!context.launchable) return INCOMPATIBLE;
  const untilMs = context.shiftedUntil?.(known.id);
  return untilMs === undefined ? undefined : { code: 'zonal-shift', untilMs };
}

function shortageObstacle(
  key: OfferingKey,
  subnetIds: readonly string[],
  context: OfferingContext,
): Obstacle | undefined {
  const { placementGroup: group } = context;
  const found =
    context.shortage(key, subnetIds) ??
    (group === undefined ? undefined : context.shortage({ ...key, placementGroup: { id: group.id } }, subnetIds));
  return found && { code: SHORT_CODES[found.of], reason: found.reason, untilMs: found.untilMs };
}

/** A reservation has no additional cost. The small remaining price makes reservations of cheaper types preferred. */
const RESERVED_PRICE_DIVISOR = 10_000_000;

const only = (key: string, value: string): Requirement => ({ key, operator: 'In', values: [value] });
const none = (key: string): Requirement => ({ key, operator: 'DoesNotExist' });

const zoneRequirements = (zone: string, known: Zone | undefined): readonly Requirement[] => [
  only(ZONE_LABEL, zone),
  ...(known === undefined ? [] : [known.id === '' ? none(ZONE_ID_LABEL) : only(ZONE_ID_LABEL, known.id)]),
];

/** Requirements that all types share, by zone and capacity type. */
const listsOf = new Map<string, readonly Requirement[]>();

function baseRequirements(capacityType: string, zone: string, known: Zone | undefined): readonly Requirement[] {
  // an offering in a zone without a subnet does not define the zone ID, whereas an unknown ID is defined as missing
  const key = `${capacityType} ${zone} ${known === undefined ? 'no subnet' : known.id}`;
  const list =
    listsOf.get(key) ??
    sharedRequirements([
      only(CAPACITY_TYPE_LABEL, capacityType),
      ...zoneRequirements(zone, known),
      none(CAPACITY_RESERVATION_ID_LABEL),
      none(CAPACITY_RESERVATION_TYPE_LABEL),
      none(CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL),
    ]);
  listsOf.set(key, list);
  return list;
}

/**
 * Limit for the price of a spot offering including its risk, relative to the on-demand price. It preserves Karpenter's
 * preference for spot.
 */
const BELOW_ON_DEMAND = 0.99;

/** Returns the expected cost of interruptions, if the risk is above the usual level. */
function spotRiskOf(instanceType: string, zone: string, context: OfferingContext): number {
  const part = context.spotRisk?.(instanceType, zone) ?? 0;
  const spot = part === 0 ? undefined : priceOf(instanceType, 'spot', context.spotPrice(instanceType, zone), context);
  if (spot === undefined) return 0;
  const onDemand = priceOf(instanceType, 'on-demand', context.onDemandPrice(instanceType), context);
  const most = onDemand === undefined ? Number.POSITIVE_INFINITY : Math.max(0, onDemand - spot) * BELOW_ON_DEMAND;
  return Math.min(part * spot, most);
}

const priceOf = (
  instanceType: string,
  capacityType: string,
  listed: number | undefined,
  { discounted }: OfferingContext,
): number | undefined => listed && (discounted?.(instanceType, capacityType, listed) ?? listed);

/** Returns the on-demand and spot offerings in every zone of the region. Offerings with an obstacle are unavailable. */
export function baseEntries(info: InstanceTypeInfo, context: OfferingContext): readonly OfferingEntry[] {
  const instanceType = info.InstanceType ?? '';
  const capacityTypes = (info.SupportedUsageClasses ?? []).filter((each) => each === 'on-demand' || each === 'spot');
  return context.allZones.flatMap((zone) => {
    const known = context.zones.find((each) => each.name === zone);
    const subnetIds = known?.subnetIds ?? [];
    const ofZone = zoneObstacle(zone, known, context);
    return capacityTypes.map((capacityType): OfferingEntry => {
      const spot = capacityType === 'spot';
      const listed = spot ? context.spotPrice(instanceType, zone) : context.onDemandPrice(instanceType);
      const price = listed ?? context.overlayPrice?.(instanceType);
      const obstacle =
        ofZone ??
        shortageObstacle({ instanceType, zone, capacityType }, subnetIds, context) ??
        (price === undefined ? (spot ? NO_SPOT_PRICE : NO_ON_DEMAND_PRICE) : undefined);
      const spotRiskUsdPerHour = spot ? spotRiskOf(instanceType, zone, context) : 0;
      const offering = {
        requirements: baseRequirements(capacityType, zone, known),
        ...offeringPrices(price ?? 0, listed && context.discounted?.(instanceType, capacityType, listed)),
        ...(spotRiskUsdPerHour > 0 && { spotRiskUsdPerHour }),
        ...availabilityOf(obstacle),
      };
      return { offering, obstacle };
    });
  });
}

export const baseOfferings = (info: InstanceTypeInfo, context: OfferingContext): readonly Offering[] =>
  baseEntries(info, context).map(({ offering }) => offering);

function reservationObstacle({ state, endTime }: CapacityReservation, left: number): Obstacle | undefined {
  const end = endTime === undefined ? {} : { untilMs: Date.parse(endTime) };
  if (state === 'expiring') return { code: 'reservation-expiring', ...end };
  return left === 0 ? { code: 'reservation-used-up' } : undefined;
}

/** Returns one offering per reservation of the type. */
export function reservedEntries(
  info: InstanceTypeInfo,
  reservations: readonly CapacityReservation[],
  left: (reservationId: string) => number,
  context: OfferingContext,
): readonly OfferingEntry[] {
  const instanceType = info.InstanceType ?? '';
  return reservations
    .filter((reservation) => reservation.instanceType === instanceType)
    .map((reservation): OfferingEntry => {
      const zone = reservation.availabilityZone;
      const known = context.zones.find((each) => each.name === zone);
      const reservationCapacity = left(reservation.id);
      const obstacle = zoneObstacle(zone, known, context) ?? reservationObstacle(reservation, reservationCapacity);
      const offering = {
        requirements: [
          only(CAPACITY_TYPE_LABEL, 'reserved'),
          ...zoneRequirements(zone, known),
          only(CAPACITY_RESERVATION_ID_LABEL, reservation.id),
          only(CAPACITY_RESERVATION_TYPE_LABEL, reservation.reservationType ?? 'default'),
          only(CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL, String(reservation.interruptible ?? false)),
        ],
        usdPerHour: (context.onDemandPrice(instanceType) ?? 0) / RESERVED_PRICE_DIVISOR,
        ...availabilityOf(obstacle),
        reservationCapacity,
      };
      return { offering, obstacle };
    });
}

/** Returns one offering per partition of a partition placement group. */
export function expandPartitions(
  offerings: readonly Offering[],
  group: PlacementGroup | undefined,
): readonly Offering[] {
  const partitions = group?.partitions ?? 0;
  if (partitions === 0) return offerings;
  return offerings.flatMap((offering) =>
    Array.from({ length: partitions }, (_, at) => ({
      ...offering,
      requirements: [...offering.requirements, only(PLACEMENT_GROUP_PARTITION_LABEL, String(at + 1))],
    })),
  );
}
