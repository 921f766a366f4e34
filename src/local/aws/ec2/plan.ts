/** Resolves all references of a launch request and validates it against the rules of EC2. */
import type {
  InstanceTypeInfo,
  LaunchTemplateIamInstanceProfileSpecificationRequest,
  RequestLaunchTemplateData,
} from '@aws-sdk/client-ec2';
import type { Account } from '../state/account.ts';
import type { Subnet } from '../state/network.ts';
import type { StoredImage, StoredPlacementGroup, StoredReservation, StoredTemplate } from '../state/stored.ts';
import type { CapacityType, Tags } from '../types.ts';
import { AwsError, missingParameter } from '../wire/error.ts';
import { unknownId } from './ids.ts';

export interface LaunchRequest {
  readonly instanceType: string | undefined;
  readonly subnetId: string | undefined;
  readonly zone: string | undefined;
  readonly imageId: string | undefined;
  /** Data of the template, merged with this request. */
  readonly data: RequestLaunchTemplateData;
  readonly market: 'on-demand' | 'spot' | 'capacity-block' | 'interruptible-capacity-reservation';
  readonly template: StoredTemplate | undefined;
  /** Returns the tags of a resource type, including tags of the template. */
  readonly tags: (resourceType: string) => Tags;
  readonly fleetId?: string;
  readonly clientToken?: string;
}

/** Validated launch request whose references exist and are compatible. Capacity is checked at the launch. */
export interface LaunchPlan {
  readonly request: LaunchRequest;
  readonly info: InstanceTypeInfo;
  readonly instanceType: string;
  readonly subnet: Subnet;
  readonly image: StoredImage;
  readonly securityGroupIds: readonly string[];
  readonly profile: string;
  /** Reservation that the request names. Open reservations are selected at the launch. */
  readonly reservation: StoredReservation | undefined;
  readonly placementGroup: StoredPlacementGroup | undefined;
  readonly capacityType: CapacityType;
  readonly usdPerHour: number;
}

/** @throws AwsError if an object of the request does not exist or is not compatible */
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

/** Returns the current price of a pool in USD per hour. Reserved capacity costs the on-demand price. */
function priceOf(account: Account, type: string, zone: string, capacityType: CapacityType): number | undefined {
  return capacityType === 'spot'
    ? account.catalogue.spotUsd(type, zone, account.clock.now())
    : account.catalogue.onDemandUsd(type);
}

function findImage(account: Account, imageId: string | undefined): StoredImage {
  if (!imageId) throw missingParameter('ImageId');
  const image = account.images.get(imageId);
  if (!image) throw unknownId(imageId, 'ami');
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
    if (!subnet)
      throw new AwsError('MissingInput', `No subnet was specified, and ${wanted ?? account.region} has no subnet`);
    return subnet;
  }
  const subnet = account.subnets.get(id);
  if (!subnet) throw unknownId(id, 'subnet');
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
    if (!group) throw unknownId(id, 'sg');
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

/** Returns true if the request must use reserved capacity. */
export const isReservedOnly = ({ CapacityReservationSpecification: wanted }: RequestLaunchTemplateData): boolean =>
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
  if (!reservation) throw unknownId(target, 'cr');
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
