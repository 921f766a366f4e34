/** Describes capacity reservations and placement groups. */
import type {
  CapacityReservation,
  DescribeCapacityReservationsRequest,
  DescribeCapacityReservationsResult,
  DescribePlacementGroupsRequest,
  DescribePlacementGroupsResult,
} from '@aws-sdk/client-ec2';
import { applyFilters, page } from '../filters.ts';
import type { Account } from '../state/account.ts';
import { AwsError } from '../wire/error.ts';
import { byIds } from './ids.ts';
import { tagList } from './tags.ts';

export function describeCapacityReservations(
  account: Account,
  input: DescribeCapacityReservationsRequest,
): DescribeCapacityReservationsResult {
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
        Tags: tagList(each.tags),
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
  return { PlacementGroups: found.map((group) => ({ ...group.facts, Tags: tagList(group.tags) })) };
}
