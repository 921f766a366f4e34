/** From a request for a machine to the machine: what EC2 checks, takes and fills in. */
import type {
  InstanceTypeInfo,
  LaunchTemplateIamInstanceProfileSpecificationRequest,
  RequestLaunchTemplateData,
} from '@aws-sdk/client-ec2';
import type {
  Account,
  StoredImage,
  StoredPlacementGroup,
  StoredReservation,
  StoredTemplate,
} from '../state/account.ts';
import { isAlive, type Machine, type MachineInterface } from '../state/machines.ts';
import type { Subnet } from '../state/network.ts';
import type { CapacityType, Tags, Volume } from '../types.ts';
import { AwsError, missingParameter } from '../wire/error.ts';
import { notFound } from './ids.ts';

export interface LaunchRequest {
  readonly instanceType: string | undefined;
  readonly subnetId: string | undefined;
  readonly zone: string | undefined;
  readonly imageId: string | undefined;
  /** Template data with what the request itself says already laid over it. */
  readonly data: RequestLaunchTemplateData;
  readonly market: 'on-demand' | 'spot' | 'capacity-block' | 'interruptible-capacity-reservation';
  readonly template: StoredTemplate | undefined;
  /** Tags by resource type, those of the template included. */
  readonly tags: (resourceType: string) => Tags;
  readonly fleetId?: string;
  readonly clientToken?: string;
}

/** A request whose every reference exists and fits together. Whether there is room is another question. */
export interface LaunchPlan {
  readonly request: LaunchRequest;
  readonly info: InstanceTypeInfo;
  readonly instanceType: string;
  readonly subnet: Subnet;
  readonly image: StoredImage;
  readonly securityGroupIds: readonly string[];
  readonly profile: string;
  /** The reservation that the request names; open ones are looked for at launch. */
  readonly reservation: StoredReservation | undefined;
  readonly placementGroup: StoredPlacementGroup | undefined;
  readonly capacityType: CapacityType;
  readonly usdPerHour: number;
}

const SPREAD_LIMIT = 7;

/** @throws AwsError when something that the request names does not exist, or does not fit */
export function planLaunch(account: Account, request: LaunchRequest): LaunchPlan {
  const { data } = request;
  const instanceType = request.instanceType ?? data.InstanceType ?? 'm1.small';
  const info = account.types.get(instanceType);
  if (!info) throw new AwsError('InvalidInstanceType', `Invalid value '${instanceType}' for InstanceType.`);
  const image = findImage(account, request.imageId ?? data.ImageId);
  const subnet = findSubnet(account, request);
  checkArchitecture(info, image);
  checkOffered(account, instanceType, subnet.zone);
  const securityGroupIds = findSecurityGroups(account, data, subnet);
  const placementGroup = findPlacementGroup(account, data, info);
  const reservation = findReservation(account, data, instanceType, subnet.zone);
  const isReserved = request.market !== 'spot' && (reservation !== undefined || isReservedOnly(data));
  const capacityType = isReserved ? 'reserved' : request.market === 'spot' ? 'spot' : 'on-demand';
  const usdPerHour = priceOf(account, instanceType, subnet.zone, capacityType);
  if (usdPerHour === undefined) {
    throw new AwsError(
      'UnfulfillableCapacity',
      `There is no ${capacityType} market for ${instanceType} in ${subnet.zone}`,
    );
  }
  const profile = findProfile(account, data.IamInstanceProfile);
  checkRootVolume(data, image);
  return {
    request,
    info,
    instanceType,
    subnet,
    image,
    securityGroupIds,
    profile,
    reservation,
    placementGroup,
    capacityType,
    usdPerHour,
  };
}

/** Dollars an hour of a pool now; reserved capacity costs what on-demand does. */
export function priceOf(account: Account, type: string, zone: string, capacityType: CapacityType): number | undefined {
  return capacityType === 'spot'
    ? account.catalogue.spotUsd(type, zone, account.clock.now())
    : account.catalogue.onDemandUsd(type);
}

/**
 * Takes capacity, quota and an address, and starts the machine.
 * @throws AwsError InsufficientInstanceCapacity, VcpuLimitExceeded, … ; then nothing was taken
 */
export function launch(account: Account, plan: LaunchPlan, reservationId: string): Machine {
  const pool = { instanceType: plan.instanceType, zone: plan.subnet.zone, capacityType: plan.capacityType };
  checkSpotRole(account, plan.capacityType);
  checkQuota(account, plan);
  checkSpread(account, plan);
  const shortage = account.faults.shortage(pool);
  if (shortage) throw shortage;

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
  const privateIp = interfaces[0]?.privateIp ?? '';
  const volumes = newVolumes(account, plan);
  const volumeTags = request.tags('volume');
  const publicIp =
    (data.NetworkInterfaces?.[0]?.AssociatePublicIpAddress ?? subnet.isPublic)
      ? `52.${privateIp.split('.').slice(1).join('.')}`
      : undefined;
  return {
    id: account.random.id('i'),
    type: plan.instanceType,
    hardware: info,
    zone: subnet.zone,
    zoneId: subnet.zoneId,
    capacityType,
    state: 'pending',
    launchedAt: now,
    imageId: image.id,
    imageName: image.name,
    architecture: image.architecture,
    platform: image.platform,
    userData: Buffer.from(data.UserData ?? '', 'base64').toString(),
    subnetId: subnet.id,
    vpcId: subnet.vpcId,
    privateIp,
    privateDnsName: privateDnsName(privateIp, account.region),
    ...(publicIp ? { publicIp } : {}),
    securityGroupIds: plan.securityGroupIds,
    instanceProfile: plan.profile,
    volumes,
    volumeTags: new Map(volumes.map((volume) => [volume.id, volumeTags])),
    tags: { ...systemTags(request), ...request.tags('instance') },
    ...(request.fleetId ? { fleetId: request.fleetId } : {}),
    ...(template ? { launchTemplateName: template.summary.LaunchTemplateName } : {}),
    ...(reservation ? { capacityReservationId: reservation.id } : {}),
    ...partitionOf(plan),
    usdPerHour: plan.usdPerHour,
    ...account.faults.boot({ instanceType: plan.instanceType, zone: subnet.zone, capacityType }),
    reservationId,
    data,
    interfaces,
    spotRequestId: capacityType === 'spot' ? account.random.id('sir') : undefined,
    template,
    placementGroup: plan.placementGroup,
    reservation,
    tenancy: data.Placement?.Tenancy ?? 'default',
    clientToken: request.clientToken ?? account.random.uuid(),
    rootDeviceName: image.rootDeviceName,
    lifecycle: request.market === 'on-demand' ? undefined : request.market,
    visibleAt: now + (account.options.consistencyDelayMs ?? 0),
    runningAt: undefined,
    endedAt: undefined,
    stateReason: undefined,
    impairedSince: {},
    scheduledEvents: [],
  };
}

/** `us-east-1` alone has another domain for historical reasons. */
export const privateDnsName = (address: string, region: string): string =>
  `ip-${address.replaceAll('.', '-')}.${region === 'us-east-1' ? 'ec2.internal' : `${region}.compute.internal`}`;

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

/** A partition group spreads machines over its partitions unless the request names one. */
function partitionOf({ request, placementGroup }: LaunchPlan): { partition?: number } {
  if (placementGroup?.facts.Strategy !== 'partition') return {};
  return { partition: request.data.Placement?.PartitionNumber ?? 1 };
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
        securityGroupIds: each.Groups ?? securityGroupIds,
        tags: request.tags('network-interface'),
      };
    });
  } catch (error) {
    for (const address of taken) if (address) subnet.addresses.release(address);
    throw error;
  }
}

function findImage(account: Account, imageId: string | undefined): StoredImage {
  if (!imageId) throw missingParameter('ImageId');
  const image = account.images.get(imageId);
  if (!image) throw notFound(imageId, 'ami');
  if (image.state !== 'available') {
    throw new AwsError('InvalidAMIID.Unavailable', `The image ID '${imageId}' is not available (${image.state})`);
  }
  return image;
}

function findSubnet(account: Account, { subnetId, zone, data }: LaunchRequest): Subnet {
  const id = subnetId ?? data.NetworkInterfaces?.[0]?.SubnetId;
  if (!id) {
    const wanted = zone ?? data.Placement?.AvailabilityZone;
    const subnet = [...account.subnets.values()].find((each) => wanted === undefined || each.zone === wanted);
    if (!subnet) throw new AwsError('MissingInput', `No subnet was given and none is in ${wanted ?? account.region}`);
    return subnet;
  }
  const subnet = account.subnets.get(id);
  if (!subnet) throw notFound(id, 'subnet');
  if (zone && zone !== subnet.zone) {
    throw new AwsError(
      'InvalidParameterValue',
      `Subnet ${id} is in ${subnet.zone}, not in the Availability Zone ${zone}`,
    );
  }
  return subnet;
}

function checkArchitecture(info: InstanceTypeInfo, image: StoredImage): void {
  const supported = info.ProcessorInfo?.SupportedArchitectures ?? [];
  if (supported.includes(image.architecture)) return;
  throw new AwsError(
    'InvalidParameterValue',
    `The architecture '${supported.join(',')}' of the specified instance type does not match the architecture ` +
      `'${image.architecture}' of the specified AMI. Specify an instance type and an AMI that have matching ` +
      'architectures, and try again. You can use describe-instance-types or describe-images to discover the ' +
      'architecture of the instance type or AMI.',
  );
}

function checkOffered(account: Account, type: string, zone: string): void {
  const zones = account.catalogue.zonesOf(type);
  if (zones.includes(zone)) return;
  throw new AwsError(
    'Unsupported',
    `Your requested instance type (${type}) is not supported in your requested Availability Zone (${zone}). ` +
      `Please retry your request by not specifying an Availability Zone or choosing ${zones.join(', ') || 'another type'}.`,
  );
}

function findSecurityGroups(account: Account, data: RequestLaunchTemplateData, subnet: Subnet): readonly string[] {
  const named = data.NetworkInterfaces?.flatMap((each) => each.Groups ?? []) ?? [];
  const ids = [...new Set([...named, ...(data.SecurityGroupIds ?? [])])];
  for (const id of ids) {
    const group = account.securityGroups.get(id);
    if (!group) throw notFound(id, 'sg');
    if (group.vpcId !== subnet.vpcId) {
      throw new AwsError(
        'InvalidParameter',
        `Security group ${id} and subnet ${subnet.id} belong to different networks.`,
      );
    }
  }
  if (ids.length > 0) return ids;
  const standard = [...account.securityGroups.values()].find(
    (group) => group.vpcId === subnet.vpcId && group.name === 'default',
  );
  return standard ? [standard.id] : [];
}

function findPlacementGroup(
  account: Account,
  { Placement: placement }: RequestLaunchTemplateData,
  info: InstanceTypeInfo,
): StoredPlacementGroup | undefined {
  const wanted = placement?.GroupId || placement?.GroupName;
  if (!wanted) return undefined;
  const group = [...account.placementGroups.values()].find((each) => each.id === wanted || each.name === wanted);
  if (!group) throw new AwsError('InvalidPlacementGroup.Unknown', `The Placement Group '${wanted}' is unknown.`);
  const strategy = group.facts.Strategy;
  const supported: readonly string[] = info.PlacementGroupInfo?.SupportedStrategies ?? [];
  if (strategy && !supported.includes(strategy)) {
    throw new AwsError(
      'InvalidParameterCombination',
      `${info.InstanceType} is not supported in ${strategy} placement groups.`,
    );
  }
  return group;
}

const isReservedOnly = ({ CapacityReservationSpecification: wanted }: RequestLaunchTemplateData): boolean =>
  wanted?.CapacityReservationPreference === 'capacity-reservations-only';

function findReservation(
  account: Account,
  { CapacityReservationSpecification: wanted }: RequestLaunchTemplateData,
  type: string,
  zone: string,
): StoredReservation | undefined {
  const target = wanted?.CapacityReservationTarget?.CapacityReservationId;
  if (!target) return undefined;
  const reservation = account.reservations.get(target);
  if (!reservation) throw notFound(target, 'cr');
  if (reservation.instanceType === type && reservation.zone === zone) return reservation;
  throw new AwsError('InvalidParameterCombination', `Capacity reservation ${target} is not for ${type} in ${zone}`);
}

function findProfile(
  account: Account,
  profile: LaunchTemplateIamInstanceProfileSpecificationRequest | undefined,
): string {
  const name = profile?.Name ?? profile?.Arn?.split('/').at(-1);
  if (!name) return '';
  if (account.profiles.has(name)) return name;
  throw new AwsError(
    'InvalidParameterValue',
    `Value (${name}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name`,
  );
}

function checkRootVolume(data: RequestLaunchTemplateData, image: StoredImage): void {
  const root = data.BlockDeviceMappings?.find((mapping) => mapping.DeviceName === image.rootDeviceName);
  const size = root?.Ebs?.VolumeSize;
  if (size === undefined || size >= image.rootSizeGiB) return;
  throw new AwsError(
    'InvalidBlockDeviceMapping',
    `Volume of size ${size}GB is smaller than the snapshot of ${image.id}, expect size >= ${image.rootSizeGiB}GB`,
  );
}

function checkSpotRole(account: Account, capacityType: CapacityType): void {
  if (capacityType !== 'spot' || !account.faults.isSpotRoleMissing()) return;
  throw new AwsError(
    'AuthFailure.ServiceLinkedRoleCreationNotPermitted',
    'The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.',
    403,
  );
}

function checkQuota(account: Account, { capacityType, info }: LaunchPlan): void {
  const { quotas } = account.options;
  const isSpot = capacityType === 'spot';
  const limit = isSpot ? quotas?.spotVcpus : quotas?.onDemandVcpus;
  if (limit === undefined) return;
  const used = account.machines
    .all()
    .filter((machine) => isAlive(machine) && (machine.capacityType === 'spot') === isSpot)
    .reduce((sum, machine) => sum + (machine.hardware.VCpuInfo?.DefaultVCpus ?? 0), 0);
  if (used + (info.VCpuInfo?.DefaultVCpus ?? 0) <= limit) return;
  throw isSpot
    ? new AwsError('MaxSpotInstanceCountExceeded', 'Max spot instance count exceeded')
    : new AwsError(
        'VcpuLimitExceeded',
        `You have requested more vCPU capacity than your current vCPU limit of ${limit} allows for the instance bucket ` +
          'that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to ' +
          'request an adjustment to this limit.',
      );
}

/** The reservation that was named, else an open one with room unless the request opted out. */
function reservationFor(
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

/** A spread group holds at most seven running machines in a zone. */
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
