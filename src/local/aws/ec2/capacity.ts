/** Creates, describes and deletes capacity reservations and placement groups. */
import type {
  CancelCapacityReservationRequest,
  CancelCapacityReservationResult,
  CapacityReservation,
  CreateCapacityReservationRequest,
  CreateCapacityReservationResult,
  CreateInterruptibleCapacityReservationAllocationRequest,
  CreateInterruptibleCapacityReservationAllocationResult,
  CreatePlacementGroupRequest,
  CreatePlacementGroupResult,
  DeletePlacementGroupRequest,
  DescribeCapacityReservationsRequest,
  DescribeCapacityReservationsResult,
  DescribePlacementGroupsRequest,
  DescribePlacementGroupsResult,
  UpdateInterruptibleCapacityReservationAllocationRequest,
  UpdateInterruptibleCapacityReservationAllocationResult,
} from '@aws-sdk/client-ec2';
import { applyFilters, page } from '../filters.ts';
import { type Account, zoneId } from '../state/account.ts';
import { addPlacementGroup, addReservation } from '../state/additions.ts';
import { isAlive } from '../state/machines.ts';
import { endReservation, settleReservations } from '../state/reservation-times.ts';
import { AwsError, invalidValue, missingParameter } from '../wire/error.ts';
import { refuseDryRun } from './dry-run.ts';
import { byIds, unknownId } from './ids.ts';
import { ec2Tags, specifiedTags } from './tags.ts';

export function createCapacityReservation(
  account: Account,
  input: CreateCapacityReservationRequest,
): CreateCapacityReservationResult {
  const { InstanceType: instanceType, InstanceCount: total, InstancePlatform: platform } = input;
  const zone = input.AvailabilityZone ?? account.zones.find(({ id }) => id === input.AvailabilityZoneId)?.name;
  if (!instanceType) throw missingParameter('InstanceType');
  if (!platform) throw missingParameter('InstancePlatform');
  if (!zone) throw missingParameter('AvailabilityZone');
  if (!account.types.has(instanceType)) throw invalidValue('InstanceType', instanceType);
  if (!zoneId(account, zone)) throw invalidValue('AvailabilityZone', zone);
  if (total === undefined || total < 1) throw invalidValue('InstanceCount', total, 'It must be at least 1.');
  if (input.EndDateType === 'limited' && !input.EndDate) throw missingParameter('EndDate');
  refuseDryRun(input);
  const id = addReservation(account, {
    instanceType,
    zone,
    total,
    matchCriteria: input.InstanceMatchCriteria ?? 'open',
    tags: specifiedTags(input.TagSpecifications, 'capacity-reservation'),
    ...(input.StartDate ? { startDateMs: new Date(input.StartDate).getTime() } : {}),
    ...(input.EndDate ? { endDateMs: new Date(input.EndDate).getTime() } : {}),
  });
  const stored = account.reservations.get(id);
  if (stored) {
    stored.facts = {
      ...stored.facts,
      InstancePlatform: platform,
      Tenancy: input.Tenancy ?? 'default',
      EbsOptimized: input.EbsOptimized ?? false,
      ...(input.PlacementGroupArn ? { PlacementGroupArn: input.PlacementGroupArn } : {}),
    };
  }
  return {
    CapacityReservation: describeCapacityReservations(account, { CapacityReservationIds: [id] })
      .CapacityReservations?.[0],
  };
}

/** Moves unused instances of a reservation to a new interruptible reservation, which can be taken back. */
export function createInterruptibleAllocation(
  account: Account,
  input: CreateInterruptibleCapacityReservationAllocationRequest,
): CreateInterruptibleCapacityReservationAllocationResult {
  const { CapacityReservationId: id = '', InstanceCount: count = 0 } = input;
  const source = account.reservations.get(id);
  if (!source) throw unknownId(id, 'cr');
  if (count < 1) throw invalidValue('InstanceCount', count, 'It must be at least 1.');
  if (source.interruptible) throw invalidValue('CapacityReservationId', id, 'It must not be interruptible.');
  if (count > source.available)
    throw new AwsError('InsufficientCapacity', `The capacity reservation has ${source.available} unused instances.`);
  refuseDryRun(input);
  const { instanceType, zone, facts } = source;
  const created = addReservation(account, {
    instanceType,
    zone,
    total: count,
    matchCriteria: 'targeted',
    interruptible: true,
  });
  const stored = account.reservations.get(created);
  if (stored)
    stored.facts = {
      ...stored.facts,
      InterruptionInfo: { SourceCapacityReservationId: id, InterruptionType: 'adhoc' },
    };
  source.available -= count;
  const allocation = { InterruptibleCapacityReservationId: created, InstanceCount: count, TargetInstanceCount: count };
  source.facts = {
    ...facts,
    TotalInstanceCount: (facts.TotalInstanceCount ?? 0) - count,
    InterruptibleCapacityAllocation: { ...allocation, Status: 'active', InterruptionType: 'adhoc' },
  };
  return { SourceCapacityReservationId: id, TargetInstanceCount: count, Status: 'active', InterruptionType: 'adhoc' };
}

/** Sets the number of instances of an interruptible reservation. Only unused instances move between the reservations. */
export function updateInterruptibleAllocation(
  account: Account,
  input: UpdateInterruptibleCapacityReservationAllocationRequest,
): UpdateInterruptibleCapacityReservationAllocationResult {
  const { CapacityReservationId: id = '', TargetInstanceCount: target } = input;
  const source = account.reservations.get(id);
  if (!source) throw unknownId(id, 'cr');
  const allocation = source.facts.InterruptibleCapacityAllocation;
  const lent = account.reservations.get(allocation?.InterruptibleCapacityReservationId ?? '');
  if (allocation === undefined || lent === undefined)
    throw invalidValue('CapacityReservationId', id, 'It has no interruptible capacity.');
  if (target === undefined || target < 0) throw invalidValue('TargetInstanceCount', target, 'It must be at least 0.');
  const now = allocation.InstanceCount ?? 0;
  if (target - now > source.available)
    throw new AwsError('InsufficientCapacity', `The capacity reservation has ${source.available} unused instances.`);
  refuseDryRun(input);
  const added = Math.max(target - now, -lent.available);
  lent.available += added;
  source.available -= added;
  const count = now + added;
  const status = count === target ? 'active' : 'updating';
  lent.facts = { ...lent.facts, TotalInstanceCount: (lent.facts.TotalInstanceCount ?? 0) + added };
  source.facts = {
    ...source.facts,
    TotalInstanceCount: (source.facts.TotalInstanceCount ?? 0) - added,
    InterruptibleCapacityAllocation: {
      ...allocation,
      InstanceCount: count,
      TargetInstanceCount: target,
      Status: status,
    },
  };
  return {
    InterruptibleCapacityReservationId: allocation.InterruptibleCapacityReservationId,
    SourceCapacityReservationId: id,
    InstanceCount: count,
    TargetInstanceCount: target,
    Status: status,
    InterruptionType: 'adhoc',
  };
}

/** Cancels a reservation. Its instances continue to run as on-demand instances. A second cancellation changes nothing. */
export function cancelCapacityReservation(
  account: Account,
  input: CancelCapacityReservationRequest,
): CancelCapacityReservationResult {
  const id = input.CapacityReservationId ?? '';
  const reservation = account.reservations.get(id);
  if (!reservation) throw unknownId(id, 'cr');
  settleReservations(account);
  if (reservation.facts.State === 'cancelled') return { Return: true };
  if (reservation.facts.State !== 'active' && reservation.facts.State !== 'scheduled') {
    throw new AwsError(
      'InvalidState',
      `The capacity reservation '${id}' is in the state ${reservation.facts.State ?? ''} and cannot be cancelled.`,
    );
  }
  refuseDryRun(input);
  endReservation(account, reservation, 'cancelled');
  return { Return: true };
}

const MOST_PARTITIONS = 7;

export function createPlacementGroup(account: Account, input: CreatePlacementGroupRequest): CreatePlacementGroupResult {
  const { GroupName: name, Strategy: strategy = 'cluster', PartitionCount: partitions } = input;
  if (!name) throw missingParameter('GroupName');
  if (!['cluster', 'spread', 'partition'].includes(strategy)) throw invalidValue('Strategy', strategy);
  if ([...account.placementGroups.values()].some((group) => group.name === name)) {
    throw new AwsError('InvalidPlacementGroup.Duplicate', `The Placement Group '${name}' already exists.`);
  }
  if (partitions !== undefined && (strategy !== 'partition' || partitions < 1 || partitions > MOST_PARTITIONS)) {
    throw invalidValue('PartitionCount', partitions, `Partition groups have 1 to ${MOST_PARTITIONS} partitions.`);
  }
  refuseDryRun(input);
  const id = addPlacementGroup(account, {
    name,
    strategy,
    ...(strategy === 'partition' ? { partitions: partitions ?? 2 } : {}),
    tags: specifiedTags(input.TagSpecifications, 'placement-group'),
  });
  return { PlacementGroup: describePlacementGroups(account, { GroupIds: [id] }).PlacementGroups?.[0] };
}

export function deletePlacementGroup(account: Account, input: DeletePlacementGroupRequest): object {
  const name = input.GroupName ?? '';
  if (name === '') throw missingParameter('GroupName');
  const group = [...account.placementGroups.values()].find((each) => each.name === name || each.id === name);
  if (!group) throw new AwsError('InvalidPlacementGroup.Unknown', `The Placement Group '${name}' is unknown.`);
  if (account.machines.all().some((machine) => isAlive(machine) && machine.placementGroup === group)) {
    throw new AwsError(
      'InvalidPlacementGroup.InUse',
      `The placement group '${name}' is in use and may not be deleted.`,
    );
  }
  refuseDryRun(input);
  account.placementGroups.delete(group.id);
  return {};
}

export function describeCapacityReservations(
  account: Account,
  input: DescribeCapacityReservationsRequest,
): DescribeCapacityReservationsResult {
  settleReservations(account);
  const reservations = byIds(account.reservations.values(), input.CapacityReservationIds, 'cr', (each) => each.id);
  const found = applyFilters(
    reservations,
    input.Filters,
    {
      'instance-type': (each) => each.instanceType,
      'owner-id': (each) => each.facts.OwnerId,
      'instance-platform': (each) => each.facts.InstancePlatform,
      'availability-zone': (each) => each.zone,
      tenancy: (each) => each.facts.Tenancy,
      state: (each) => each.facts.State,
      'instance-match-criteria': (each) => each.facts.InstanceMatchCriteria,
    },
    (each) => each.tags,
  );
  const { items, next } = page(found, input, { max: 1000 });
  return {
    CapacityReservations: items.map(
      (each): CapacityReservation => ({
        ...each.facts,
        AvailableInstanceCount: each.available,
        Tags: ec2Tags(each.tags),
      }),
    ),
    NextToken: next,
  };
}

export function describePlacementGroups(
  account: Account,
  input: DescribePlacementGroupsRequest,
): DescribePlacementGroupsResult {
  const groups = byIds(account.placementGroups.values(), input.GroupIds, 'pg', (group) => group.id);
  const unknown = input.GroupNames?.find((name) => !groups.some((group) => group.name === name));
  if (unknown) throw new AwsError('InvalidPlacementGroup.Unknown', `The Placement Group '${unknown}' is unknown.`);
  const named = groups.filter((group) => !input.GroupNames?.length || input.GroupNames.includes(group.name));
  const found = applyFilters(
    named,
    input.Filters,
    {
      'group-name': (group) => group.name,
      'group-arn': (group) => group.facts.GroupArn,
      state: (group) => group.facts.State,
      strategy: (group) => group.facts.Strategy,
    },
    (group) => group.tags,
  );
  return { PlacementGroups: found.map((group) => ({ ...group.facts, Tags: ec2Tags(group.tags) })) };
}
