/** Adds images, capacity reservations and placement groups to the account. Each function returns the ID. */
import type { ImageSeed, PlacementGroupSeed, ReservationSeed } from '../options.ts';
import { type Account, zoneId } from './account.ts';
import { watchReservation } from './reservation-times.ts';
import type { StoredReservation } from './stored.ts';

export function addPlacementGroup(account: Account, group: PlacementGroupSeed): string {
  const { name, strategy, id = account.random.id('pg'), partitions, tags = {} } = group;
  const facts = {
    GroupName: name,
    GroupId: id,
    GroupArn: `arn:aws:ec2:${account.region}:${account.id}:placement-group/${name}`,
    Strategy: strategy,
    State: 'available' as const,
    ...(partitions === undefined ? {} : { PartitionCount: partitions }),
  };
  account.placementGroups.set(id, { id, name, facts, tags });
  return id;
}

export function addImage(account: Account, image: ImageSeed): string {
  const platform = image.platform ?? 'linux';
  const id = image.id ?? account.random.id('ami');
  account.images.set(id, {
    id,
    name: image.name,
    architecture: image.architecture ?? 'x86_64',
    ownerId: image.ownerId ?? account.id,
    ownerAlias: image.ownerAlias,
    creationDate: image.creationDate ?? new Date(account.clock.now()).toISOString(),
    deprecationTime: image.deprecationTime,
    platform,
    rootDeviceName: image.rootDeviceName ?? (platform === 'windows' ? '/dev/sda1' : '/dev/xvda'),
    rootSizeGiB: image.rootSizeGiB ?? (platform === 'windows' ? 50 : 8),
    state: image.state ?? 'available',
    tags: image.tags ?? {},
  });
  return id;
}

export function addReservation(account: Account, seed: ReservationSeed): string {
  const { region, random } = account;
  const id = seed.id ?? random.id('cr');
  const nowMs = account.clock.now();
  const { startDateMs = nowMs } = seed;
  const isScheduled = startDateMs > nowMs;
  const endDate = seed.endDateMs === undefined ? undefined : new Date(seed.endDateMs);
  const stored: StoredReservation = {
    id,
    instanceType: seed.instanceType,
    zone: seed.zone,
    interruptible: seed.interruptible ?? false,
    available: isScheduled ? 0 : (seed.available ?? seed.total),
    tags: seed.tags ?? {},
    facts: {
      CapacityReservationId: id,
      CapacityReservationArn: `arn:aws:ec2:${region}:${account.id}:capacity-reservation/${id}`,
      OwnerId: seed.ownerId ?? account.id,
      InstanceType: seed.instanceType,
      InstancePlatform: 'Linux/UNIX',
      AvailabilityZone: seed.zone,
      AvailabilityZoneId: zoneId(account, seed.zone),
      Tenancy: 'default',
      TotalInstanceCount: seed.total,
      EbsOptimized: false,
      EphemeralStorage: false,
      State: isScheduled ? 'scheduled' : 'active',
      StartDate: new Date(startDateMs),
      CreateDate: new Date(nowMs),
      EndDateType: endDate ? 'limited' : 'unlimited',
      ...(endDate ? { EndDate: endDate } : {}),
      InstanceMatchCriteria: seed.matchCriteria ?? 'open',
      ReservationType: seed.reservationType ?? 'default',
      ...(seed.interruptible ? { Interruptible: true } : {}),
    },
  };
  account.reservations.set(id, stored);
  watchReservation(account, stored);
  return id;
}
