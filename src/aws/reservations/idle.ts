/** Open capacity reservations that are paid but not used, because no EC2NodeClass selects them. */
import {
  type CapacityReservation as Described,
  type EC2Client,
  paginateDescribeCapacityReservations,
} from '@aws-sdk/client-ec2';
import { CAPACITY_TYPE_LABEL, type EC2NodeClass, type NodePool, ZONE_LABEL } from '#api/objects';
import { type InstanceType, LOOSE, type Offering, requirementsOf } from '#engine/model';
import { poolRequirements } from '../nodepools.ts';
import { pagesOf } from '../pages.ts';

const DAY_HOURS = 24;

export interface IdleReservation {
  readonly id: string;
  readonly instanceType: string;
  readonly zone: string;
  /** Number of unused instances. */
  readonly unused: number;
  readonly usdPerDay: number;
  /** Names of the NodePools that could use it, sorted. */
  readonly nodePools: readonly string[];
  /** EC2NodeClass of the first of these NodePools. */
  readonly nodeClass: string;
}

/** NodePool with its instance types, including the offerings that are not available now. */
export interface PoolTypes {
  readonly nodePool: NodePool;
  readonly types: readonly InstanceType[];
}

/** Returns the open reservations of Linux instances with unused instances. */
export async function describeOpen(ec2: EC2Client): Promise<readonly Described[]> {
  const open: Described[] = [];
  const Filters = [
    { Name: 'state', Values: ['active'] },
    { Name: 'instance-match-criteria', Values: ['open'] },
  ];
  for await (const page of pagesOf(
    'DescribeCapacityReservations',
    paginateDescribeCapacityReservations({ client: ec2 }, { Filters, MaxResults: 1000 }),
  ))
    open.push(...(page.CapacityReservations ?? []));
  return open.filter(
    ({ AvailableInstanceCount = 0, InstancePlatform, Tenancy = 'default' }) =>
      AvailableInstanceCount > 0 && InstancePlatform === 'Linux/UNIX' && Tenancy === 'default',
  );
}

/** Returns the IDs of the reservations that NodeClasses select. */
export const selectedIds = (nodeClasses: readonly EC2NodeClass[]): ReadonlySet<string> =>
  new Set(nodeClasses.flatMap(({ status }) => (status?.capacityReservations ?? []).map(({ id }) => id)));

/**
 * Returns the reservations that NodePools could use and no NodeClass selects. Launches do not use them, because their launch
 * templates opt out of open reservations.
 */
export function idleReservations(
  open: readonly Described[],
  selected: ReadonlySet<string>,
  pools: readonly PoolTypes[],
): readonly IdleReservation[] {
  return open.flatMap((described): readonly IdleReservation[] => {
    const { CapacityReservationId: id = '', InstanceType: instanceType = '', AvailabilityZone: zone = '' } = described;
    if (selected.has(id)) return [];
    const users = pools.flatMap(({ nodePool, types }) => {
      const offering = onDemandOffering({ nodePool, types }, instanceType, zone);
      return offering === undefined ? [] : [{ nodePool, offering }];
    });
    const [first] = users;
    if (first === undefined) return [];
    const unused = described.AvailableInstanceCount ?? 0;
    return [
      {
        id,
        instanceType,
        zone,
        unused,
        usdPerDay: first.offering.usdPerHour * DAY_HOURS * unused,
        nodePools: users.map(({ nodePool }) => nodePool.metadata.name).sort(),
        nodeClass: first.nodePool.spec.template.spec.nodeClassRef.name,
      },
    ];
  });
}

/** Returns the on-demand offering of the type in the zone if the NodePool allows it, whether it is available now or not. */
function onDemandOffering({ nodePool, types }: PoolTypes, name: string, zone: string): Offering | undefined {
  const type = types.find((each) => each.name === name);
  if (type === undefined) return undefined;
  const requirements = poolRequirements(nodePool).without(CAPACITY_TYPE_LABEL);
  if (!requirements.compatible(requirementsOf(type), LOOSE)) return undefined;
  return type.offerings.find((offering) => {
    const has = (key: string, value: string): boolean => requirementsOf(offering).get(key).has(value);
    return (
      has(CAPACITY_TYPE_LABEL, 'on-demand') &&
      has(ZONE_LABEL, zone) &&
      requirements.compatible(requirementsOf(offering), LOOSE)
    );
  });
}

/** Returns a sentence such as `has 3 unused m5.large instances in us-west-2a, which cost $6.91 a day`. */
export const idleText = ({ unused, instanceType, zone, usdPerDay }: IdleReservation): string =>
  `has ${unused} unused ${instanceType} ${unused === 1 ? 'instance' : 'instances'} in ${zone}, which cost $${usdPerDay.toFixed(2)} a day`;
