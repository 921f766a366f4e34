/** The ways to buy an instance type: zones × capacity types, and reservations. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  PLACEMENT_GROUP_PARTITION_LABEL,
  ZONE_ID_LABEL,
  ZONE_LABEL,
} from '../../api/labels.ts';
import type { InstanceType, Offering, Requirement } from '../../engine/model.ts';
import type { DiscountedPrice } from '../../engine/price-book/book-entries.ts';
import { sharedRequirements } from '../../engine/shared-types.ts';
import type { PlacementGroup } from '../placementgroups.ts';
import type { CapacityReservation } from '../reservations/reservations.ts';
import type { Zone } from '../subnets/zones.ts';
import type { OfferingKey, Shortage } from './unavailable.ts';

export interface OfferingContext {
  /** Every zone of the region in which any type is offered. */
  readonly allZones: readonly string[];
  readonly zones: readonly Zone[];
  readonly offeredIn: ReadonlySet<string>;
  /** Whether the NodeClass can be launched on the type. */
  readonly launchable: boolean;
  readonly placementGroup: PlacementGroup | undefined;
  readonly onDemandPrice: (instanceType: string) => number | undefined;
  readonly spotPrice: (instanceType: string, zone: string) => number | undefined;
  /** The price that a NodeOverlay gives to a type for which AWS has none. */
  readonly overlayPrice?: ((instanceType: string) => number | undefined) | undefined;
  /** What the price book makes of a list price; as it is when absent. */
  readonly discounted?: DiscountedPrice | undefined;
  /** Which part of its spot price is added for the interruptions of a type in a zone; nothing when absent. */
  readonly spotRisk?: ((instanceType: string, zone: string) => number) | undefined;
  readonly shortage: (offering: OfferingKey, subnetIds: readonly string[]) => Shortage | undefined;
  /** When the shift away from a zone ends, by zone id; undefined when there is none. */
  readonly shiftedUntil?: ((zoneId: string) => number | undefined) | undefined;
}

/** Why an offering cannot be bought now. Codes are public. */
export type ObstacleCode =
  /** Lasting: AWS does not sell the type there, the NodeClass has no subnet there, or cannot be launched on the type. */
  | 'not-offered'
  | 'no-subnet'
  | 'incompatible'
  /** Passing. */
  | 'zonal-shift'
  | 'insufficient-capacity'
  | 'capacity-type-refused'
  | 'subnets-full'
  | 'no-spot-price'
  | 'no-on-demand-price'
  | 'reservation-used-up'
  | 'reservation-expiring';

export interface Obstacle {
  readonly code: ObstacleCode;
  /** AWS's own word for it. */
  readonly reason?: string;
  /** When it will be tried again; absent when nobody knows. */
  readonly untilMs?: number;
}

/** An offering, and what stands in the way of buying it. */
export interface OfferingEntry {
  readonly offering: Offering;
  readonly obstacle: Obstacle | undefined;
}

/** An instance type with its offerings, all partitions of a placement group as one. */
export interface Surveyed {
  readonly type: InstanceType;
  readonly entries: readonly OfferingEntry[];
}

const LASTING: ReadonlySet<ObstacleCode> = new Set(['not-offered', 'no-subnet', 'incompatible']);
/** Whether an offering is out for as long as the NodeClass and AWS's offer stay as they are. */
export const isLasting = ({ code }: Obstacle): boolean => LASTING.has(code);

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

/** What keeps every offering of a zone from being bought. */
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

/** A reservation costs nothing more, yet cheaper types' reservations are used first. */
const RESERVED_PRICE_DIVISOR = 10_000_000;

const only = (key: string, value: string): Requirement => ({ key, operator: 'In', values: [value] });
const none = (key: string): Requirement => ({ key, operator: 'DoesNotExist' });

const zoneRequirements = (zone: string, known: Zone | undefined): readonly Requirement[] => [
  only(ZONE_LABEL, zone),
  ...(known === undefined ? [] : [known.id === '' ? none(ZONE_ID_LABEL) : only(ZONE_ID_LABEL, known.id)]),
];

/** One list for all types; there are as many as zones times capacity types. */
const listsOf = new Map<string, readonly Requirement[]>();

function baseRequirements(capacityType: string, zone: string, known: Zone | undefined): readonly Requirement[] {
  // a zone without a subnet says nothing of its id, one whose id is unknown that it has none
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

/** AWS's price is named where the price book has another. */
const pricesOf = (
  usdPerHour: number,
  discounted: number | undefined,
): Pick<Offering, 'usdPerHour' | 'listUsdPerHour'> =>
  discounted === undefined || discounted === usdPerHour
    ? { usdPerHour }
    : { usdPerHour: discounted, listUsdPerHour: usdPerHour };

/** A spot instance stays cheaper than the same on demand: which of them is bought is Karpenter's to say, spot before on-demand. */
const BELOW_ON_DEMAND = 0.99;

/** What its interruptions are expected to cost, where they are more than usual. */
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

/** On-demand and spot offerings in every zone of the region; those that cannot be bought now are not available. */
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
        ...pricesOf(price ?? 0, listed && context.discounted?.(instanceType, capacityType, listed)),
        ...(spotRiskUsdPerHour > 0 && { spotRiskUsdPerHour }),
        available: obstacle === undefined,
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

/** One offering per reservation of the type. */
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
        available: obstacle === undefined,
        reservationCapacity,
      };
      return { offering, obstacle };
    });
}

/** One offering per partition of a partition placement group. */
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
