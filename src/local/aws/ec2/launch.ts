/** Launches an instance from a plan: allocates resources of the account and sets defaults as EC2 does. */
import { shortageError } from '../faults.ts';
import type { Account } from '../state/account.ts';
import { isAlive, type Machine, type MachineInterface } from '../state/machines.ts';
import { settleReservations } from '../state/reservation-times.ts';
import type { StoredReservation } from '../state/stored.ts';
import type { CapacityType, Pool, Tags, Volume } from '../types.ts';
import { AwsError } from '../wire/error.ts';
import { isReservedOnly, type LaunchPlan, type LaunchRequest } from './plan.ts';

/**
 * Allocates capacity, quota and an address, and starts the instance.
 * @throws AwsError InsufficientInstanceCapacity, VcpuLimitExceeded and others, before anything is allocated
 */
export function launchInstances(account: Account, plan: LaunchPlan, reservationId: string): Machine {
  const pool = { instanceType: plan.instanceType, zone: plan.subnet.zone, capacityType: plan.capacityType };
  checkSpotRole(account, plan.capacityType);
  checkSpread(account, plan);
  const shortage = account.faults.shortage(pool);
  if (shortage) throw shortage;
  if (account.options.isSoldOut?.(pool, account.clock.now())) throw shortageError(pool);

  const reservation = reservationFor(account, plan);
  const interfaces = attachInterfaces(account, plan);
  account.faults.launched(pool);
  if (reservation) reservation.available -= 1;
  const machine = newMachine(account, plan, { reservationId, interfaces, reservation });
  account.machines.add(machine);
  return machine;
}

interface Taken {
  readonly reservationId: string;
  readonly interfaces: readonly MachineInterface[];
  readonly reservation: StoredReservation | undefined;
}

function newMachine(account: Account, plan: LaunchPlan, { reservationId, interfaces, reservation }: Taken): Machine {
  const { request, subnet, image, info, capacityType } = plan;
  const { data, template } = request;
  const now = account.clock.now();
  const volumes = newVolumes(account, plan);
  const volumeTags = request.tags('volume');
  const hidden = account.faults.hidden({ instanceType: plan.instanceType, zone: subnet.zone, capacityType });
  const visibleAt = now + hidden.machineMs;
  const id = account.random.id('i');
  return {
    id,
    type: plan.instanceType,
    hardware: info,
    zone: subnet.zone,
    zoneId: subnet.zoneId,
    capacityType,
    state: 'pending',
    boots: 0,
    launchedAt: now,
    imageId: image.id,
    imageName: image.name,
    architecture: image.architecture,
    platform: image.platform,
    userData: Buffer.from(data.UserData ?? '', 'base64').toString(),
    ...addressesOf(account, plan, { id, interfaces }),
    securityGroupIds: plan.securityGroupIds,
    instanceProfile: plan.profile,
    volumes,
    volumeTags: new Map(volumes.map((volume) => [volume.id, volumeTags])),
    tags: { ...systemTags(request), ...request.tags('instance') },
    ...(request.fleetId ? { fleetId: request.fleetId } : {}),
    ...(template ? { launchTemplateName: template.summary.LaunchTemplateName } : {}),
    ...(reservation ? { capacityReservationId: reservation.id } : {}),
    ...choosePartition(account, plan),
    usdPerHour: plan.usdPerHour,
    ...bootOf(account, { instanceType: plan.instanceType, zone: subnet.zone, capacityType }),
    reservationId,
    data,
    interfaces,
    spotRequestId: capacityType === 'spot' ? account.random.id('sir') : undefined,
    spotRequestTags: request.tags('spot-instances-request'),
    template,
    placementGroup: plan.placementGroup,
    reservation,
    tenancy: data.Placement?.Tenancy ?? 'default',
    clientToken: request.clientToken ?? account.random.uuid(),
    rootDeviceName: image.rootDeviceName,
    lifecycle: request.market === 'on-demand' ? undefined : request.market,
    visibleAt,
    taggedAt: visibleAt + hidden.tagsMs,
    runningAt: undefined,
    endedAt: undefined,
    stateReason: undefined,
    impairedSince: {},
    scheduledEvents: [],
  };
}

function bootOf(account: Account, pool: Pool): Pick<Machine, 'joins' | 'bootDelayMs'> {
  const { joins, bootDelayMs } = account.faults.boot(pool);
  const order = account.launches++;
  return { joins, bootDelayMs: bootDelayMs + (account.options.bootDelayMs?.(order) ?? 0) };
}

function addressesOf(
  { region }: Account,
  { request, subnet }: LaunchPlan,
  { id, interfaces }: { readonly id: string; readonly interfaces: readonly MachineInterface[] },
) {
  const { privateIp = '', ipv6Address } = interfaces[0] ?? {};
  const isPublic = request.data.NetworkInterfaces?.[0]?.AssociatePublicIpAddress ?? subnet.isPublic;
  return {
    subnetId: subnet.id,
    vpcId: subnet.vpcId,
    privateIp,
    ...(ipv6Address === undefined ? {} : { ipv6Address }),
    privateDnsName: privateDnsName(
      subnet.dns.hostnameType === 'resource-name' ? id : `ip-${privateIp.replaceAll('.', '-')}`,
      region,
    ),
    ...(isPublic ? { publicIp: `52.${privateIp.split('.').slice(1).join('.')}` } : {}),
  };
}

/** Returns an address of the VPC's IPv6 range that corresponds to an IPv4 address. */
const ipv6Of = (address: string): string =>
  `2600:1f14:0:${address
    .split('.')
    .map((part) => Number(part).toString(16))
    .join(':')}:1`;

/** Returns the private DNS name. `us-east-1` has another domain for historical reasons. */
const privateDnsName = (name: string, region: string): string =>
  `${name}.${region === 'us-east-1' ? 'ec2.internal' : `${region}.compute.internal`}`;

function systemTags({ template, fleetId }: LaunchRequest): Tags {
  return {
    ...(template
      ? {
          'aws:ec2launchtemplate:id': template.summary.LaunchTemplateId,
          'aws:ec2launchtemplate:version': String(template.summary.LatestVersionNumber),
        }
      : {}),
    ...(fleetId ? { 'aws:ec2:fleet-id': fleetId } : {}),
  };
}

function newVolumes(account: Account, { request, image }: LaunchPlan): readonly Volume[] {
  const mappings = (request.data.BlockDeviceMappings ?? []).filter((mapping) => mapping.Ebs);
  const volumes = mappings.map(({ DeviceName: deviceName, Ebs: ebs }) => ({
    id: account.random.id('vol'),
    deviceName: deviceName ?? image.rootDeviceName,
    sizeGiB: ebs?.VolumeSize ?? (deviceName === image.rootDeviceName ? image.rootSizeGiB : 8),
    volumeType: ebs?.VolumeType ?? 'gp3',
  }));
  if (volumes.some((volume) => volume.deviceName === image.rootDeviceName)) return volumes;
  const root = {
    id: account.random.id('vol'),
    deviceName: image.rootDeviceName,
    sizeGiB: image.rootSizeGiB,
    volumeType: 'gp3',
  };
  return [root, ...volumes];
}

function attachInterfaces(account: Account, { request, subnet, securityGroupIds }: LaunchPlan): MachineInterface[] {
  const wanted = request.data.NetworkInterfaces?.length ? request.data.NetworkInterfaces : [{ DeviceIndex: 0 }];
  const taken: string[] = [];
  try {
    return wanted.map((each, index) => {
      const privateIp = each.InterfaceType === 'efa-only' ? '' : subnet.addresses.take();
      taken.push(privateIp);
      return {
        id: account.random.id('eni'),
        attachmentId: account.random.id('eni-attach'),
        deviceIndex: each.DeviceIndex ?? index,
        cardIndex: each.NetworkCardIndex ?? 0,
        type: each.InterfaceType ?? 'interface',
        privateIp,
        ...((each.Ipv6AddressCount ?? Number(subnet.assignsIpv6)) > 0 ? { ipv6Address: ipv6Of(privateIp) } : {}),
        securityGroupIds: each.Groups ?? securityGroupIds,
        ...(each.ConnectionTrackingSpecification ? { connectionTracking: each.ConnectionTrackingSpecification } : {}),
        tags: request.tags('network-interface'),
      };
    });
  } catch (error) {
    for (const address of taken) if (address) subnet.addresses.release(address);
    throw error;
  }
}

/** Maximum number of instances of a spread placement group in a zone. */
const SPREAD_LIMIT = 7;

function checkSpotRole(account: Account, capacityType: CapacityType): void {
  if (capacityType !== 'spot' || !account.faults.isSpotRoleMissing()) return;
  throw new AwsError(
    'AuthFailure.ServiceLinkedRoleCreationNotPermitted',
    'The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.',
    403,
  );
}

/** Returns the reservation of the request, or an open reservation with free capacity unless the request opts out. */
function reservationFor(
  account: Account,
  { request, reservation, instanceType, subnet }: LaunchPlan,
): StoredReservation | undefined {
  settleReservations(account);
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

function checkSpread(account: Account, { placementGroup, subnet }: LaunchPlan): void {
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
function choosePartition(account: Account, { request, placementGroup }: LaunchPlan): { readonly partition?: number } {
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
