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
import type { Offering, Requirement } from '../../engine/model.ts';
import type { Zone } from '../instancetypes/zones.ts';
import type { PlacementGroup } from '../placementgroups/placementgroups.ts';
import type { CapacityReservation } from '../reservations/reservations.ts';
import type { OfferingKey } from './unavailable.ts';

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
  readonly isUnavailable: (offering: OfferingKey, subnetIds: readonly string[]) => boolean;
}

/** A reservation costs nothing more, yet cheaper types' reservations are used first. */
const RESERVED_PRICE_DIVISOR = 10_000_000;

const only = (key: string, value: string): Requirement => ({ key, operator: 'In', values: [value] });
const none = (key: string): Requirement => ({ key, operator: 'DoesNotExist' });

const zoneRequirements = (zone: string, known: Zone | undefined): readonly Requirement[] => [
  only(ZONE_LABEL, zone),
  ...(known === undefined || known.id === '' ? [] : [only(ZONE_ID_LABEL, known.id)]),
];

/** On-demand and spot offerings in every zone of the region; those that cannot be bought now are not available. */
export function baseOfferings(info: InstanceTypeInfo, context: OfferingContext): readonly Offering[] {
  const instanceType = info.InstanceType ?? '';
  const capacityTypes = (info.SupportedUsageClasses ?? []).filter((each) => each === 'on-demand' || each === 'spot');
  const scoped = context.placementGroup === undefined ? undefined : { id: context.placementGroup.id };
  return context.allZones.flatMap((zone) => {
    const known = context.zones.find((each) => each.name === zone);
    const subnetIds = known?.subnetIds ?? [];
    return capacityTypes.map((capacityType): Offering => {
      const price =
        capacityType === 'spot' ? context.spotPrice(instanceType, zone) : context.onDemandPrice(instanceType);
      const key = { instanceType, zone, capacityType };
      const short =
        context.isUnavailable(key, subnetIds) ||
        (scoped !== undefined && context.isUnavailable({ ...key, placementGroup: scoped }, subnetIds));
      return {
        requirements: [
          only(CAPACITY_TYPE_LABEL, capacityType),
          ...zoneRequirements(zone, known),
          none(CAPACITY_RESERVATION_ID_LABEL),
          none(CAPACITY_RESERVATION_TYPE_LABEL),
          none(CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL),
        ],
        usdPerHour: price ?? 0,
        available:
          context.launchable && !short && price !== undefined && known !== undefined && context.offeredIn.has(zone),
      };
    });
  });
}

/** One offering per reservation of the type. */
export function reservedOfferings(
  info: InstanceTypeInfo,
  reservations: readonly CapacityReservation[],
  left: (reservationId: string) => number,
  context: OfferingContext,
): readonly Offering[] {
  const instanceType = info.InstanceType ?? '';
  return reservations
    .filter((reservation) => reservation.instanceType === instanceType)
    .map((reservation): Offering => {
      const zone = reservation.availabilityZone;
      const known = context.zones.find((each) => each.name === zone);
      const reservationCapacity = left(reservation.id);
      const usable = known !== undefined && context.offeredIn.has(zone) && reservation.state !== 'expiring';
      return {
        requirements: [
          only(CAPACITY_TYPE_LABEL, 'reserved'),
          ...zoneRequirements(zone, known),
          only(CAPACITY_RESERVATION_ID_LABEL, reservation.id),
          only(CAPACITY_RESERVATION_TYPE_LABEL, reservation.reservationType ?? 'default'),
          only(CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL, String(reservation.interruptible ?? false)),
        ],
        usdPerHour: (context.onDemandPrice(instanceType) ?? 0) / RESERVED_PRICE_DIVISOR,
        available: context.launchable && usable && reservationCapacity !== 0,
        reservationCapacity,
      };
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
