/** Checks if a planned instance can be launched: roles, placement groups and reservations. */
import type { Account } from '../state/account.ts';
import { isAlive } from '../state/machines.ts';
import type { StoredReservation } from '../state/stored.ts';
import type { CapacityType } from '../types.ts';
import { AwsError } from '../wire/error.ts';
import { isReservedOnly, type LaunchPlan } from './plan.ts';

/** Maximum number of instances of a spread placement group in a zone. */
const SPREAD_LIMIT = 7;

export function checkSpotRole(account: Account, capacityType: CapacityType): void {
  if (capacityType !== 'spot' || !account.faults.isSpotRoleMissing()) return;
  throw new AwsError(
    'AuthFailure.ServiceLinkedRoleCreationNotPermitted',
    'The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.',
    403,
  );
}

/** Returns the reservation of the request, or an open reservation with free capacity unless the request opts out. */
export function reservationFor(
  account: Account,
  { request, reservation, instanceType, subnet }: LaunchPlan,
): StoredReservation | undefined {
  const { data, market } = request;
  const opensUp = market !== 'spot' && data.CapacityReservationSpecification?.CapacityReservationPreference !== 'none';
  const found =
    reservation ??
    [...account.reservations.values()].find(
      (each) =>
        opensUp &&
        each.facts.InstanceMatchCriteria === 'open' &&
        each.instanceType === instanceType &&
        each.zone === subnet.zone &&
        each.available > 0,
    );
  if (found ? found.available > 0 : !isReservedOnly(data)) return found;
  throw new AwsError(
    'ReservationCapacityExceeded',
    'The requested reservation does not have sufficient compatible and available capacity for this request.',
  );
}

export function checkSpread(account: Account, { placementGroup, subnet }: LaunchPlan): void {
  if (placementGroup?.facts.Strategy !== 'spread') return;
  const members = account.machines
    .all()
    .filter((machine) => isAlive(machine) && machine.placementGroup === placementGroup && machine.zone === subnet.zone);
  if (members.length < SPREAD_LIMIT) return;
  throw new AwsError(
    'InsufficientInstanceCapacity',
    'You have reached the limit of instances in this spread placement group in this Availability Zone.',
    500,
  );
}

/** Returns the partition of the request, or the partition with the fewest instances. */
export function choosePartition(
  account: Account,
  { request, placementGroup }: LaunchPlan,
): { readonly partition?: number } {
  if (placementGroup?.facts.Strategy !== 'partition') return {};
  const named = request.data.Placement?.PartitionNumber;
  if (named !== undefined) return { partition: named };
  const members = (partition: number): number =>
    account.machines
      .all()
      .filter((each) => isAlive(each) && each.placementGroup === placementGroup && each.partition === partition).length;
  const partitions = Array.from({ length: placementGroup.facts.PartitionCount ?? 1 }, (_, index) => index + 1);
  return { partition: partitions.reduce((best, each) => (members(each) < members(best) ? each : best), 1) };
}
