/** The reads that do not concern machines: types, zones, networks, images, prices, reservations, placement groups. */
import type {
  _InstanceType,
  CapacityReservation,
  DescribeAvailabilityZonesRequest,
  DescribeAvailabilityZonesResult,
  DescribeCapacityReservationsRequest,
  DescribeCapacityReservationsResult,
  DescribeImagesRequest,
  DescribeImagesResult,
  DescribeInstanceTypeOfferingsRequest,
  DescribeInstanceTypeOfferingsResult,
  DescribeInstanceTypesRequest,
  DescribeInstanceTypesResult,
  DescribePlacementGroupsRequest,
  DescribePlacementGroupsResult,
  DescribeSecurityGroupsRequest,
  DescribeSecurityGroupsResult,
  DescribeSpotPriceHistoryRequest,
  DescribeSpotPriceHistoryResult,
  DescribeSubnetsRequest,
  DescribeSubnetsResult,
  DescribeVpcsRequest,
  DescribeVpcsResult,
  Image,
  SpotPrice,
} from '@aws-sdk/client-ec2';
import { SPOT_STEP_MS } from '../catalogue/catalogue.ts';
import { applyFilters, page } from '../filters.ts';
import type { Account, StoredImage } from '../state/account.ts';
import { AwsError } from '../wire/error.ts';
import { byIds } from './ids.ts';
import { tagList } from './tags.ts';

export function describeInstanceTypes(
  { catalogue, types }: Account,
  input: DescribeInstanceTypesRequest,
): DescribeInstanceTypesResult {
  const unknown = input.InstanceTypes?.filter((name) => !types.has(name)) ?? [];
  if (unknown.length > 0) {
    throw new AwsError(
      'InvalidInstanceType',
      `The following supplied instance types do not exist: [${unknown.join(', ')}]`,
    );
  }
  const named = input.InstanceTypes?.flatMap((name) => types.get(name) ?? []);
  const found = applyFilters(named ?? catalogue.types, input.Filters, {
    'instance-type': (info) => info.InstanceType,
    'supported-virtualization-type': (info) => info.SupportedVirtualizationTypes,
    'processor-info.supported-architecture': (info) => info.ProcessorInfo?.SupportedArchitectures,
    'supported-usage-class': (info) => info.SupportedUsageClasses,
    'bare-metal': (info) => String(info.BareMetal),
    'current-generation': (info) => String(info.CurrentGeneration),
    'burstable-performance-supported': (info) => String(info.BurstablePerformanceSupported),
    'instance-storage-supported': (info) => String(info.InstanceStorageSupported),
    hypervisor: (info) => info.Hypervisor,
    'vcpu-info.default-vcpus': (info) => String(info.VCpuInfo?.DefaultVCpus),
    'memory-info.size-in-mib': (info) => String(info.MemoryInfo?.SizeInMiB),
    'network-info.efa-supported': (info) => String(info.NetworkInfo?.EfaSupported),
  });
  const { items, next } = page(found, input, { min: 5, max: 100, fallback: 100 });
  return { InstanceTypes: items, NextToken: next };
}

export function describeInstanceTypeOfferings(
  { catalogue, zones, region }: Account,
  input: DescribeInstanceTypeOfferingsRequest,
): DescribeInstanceTypeOfferingsResult {
  const location = input.LocationType ?? 'region';
  const idOf = new Map(zones.map((zone) => [zone.name, zone.id]));
  const locations = (names: readonly string[]): readonly string[] => {
    if (location === 'region') return names.length > 0 ? [region] : [];
    return location === 'availability-zone-id' ? names.map((name) => idOf.get(name) ?? name) : names;
  };
  const rows = catalogue.types.flatMap(({ InstanceType: type = 'm1.small' }) =>
    locations(catalogue.zonesOf(type)).map((place) => ({ type, place })),
  );
  const found = applyFilters(rows, input.Filters, {
    'instance-type': (row) => row.type,
    location: (row) => row.place,
  });
  const { items, next } = page(found, input, { min: 5, max: 1000, fallback: 1000 });
  return {
    InstanceTypeOfferings: items.map(({ type, place }) => ({
      InstanceType: type,
      LocationType: location,
      Location: place,
    })),
    NextToken: next,
  };
}

export function describeAvailabilityZones(
  { zones, region }: Account,
  input: DescribeAvailabilityZonesRequest,
): DescribeAvailabilityZonesResult {
  const wanted = [...(input.ZoneNames ?? []), ...(input.ZoneIds ?? [])];
  const unknown = wanted.find((name) => !zones.some((zone) => zone.name === name || zone.id === name));
  if (unknown) throw new AwsError('InvalidParameterValue', `Invalid availability zone: [${unknown}]`);
  const named = zones.filter((zone) => wanted.length === 0 || wanted.includes(zone.name) || wanted.includes(zone.id));
  const found = applyFilters(named, input.Filters, {
    'zone-name': (zone) => zone.name,
    'zone-id': (zone) => zone.id,
    'zone-type': () => 'availability-zone',
    'region-name': () => region,
    state: () => 'available',
    'opt-in-status': () => 'opt-in-not-required',
  });
  return {
    AvailabilityZones: found.map((zone) => ({
      ZoneName: zone.name,
      ZoneId: zone.id,
      RegionName: region,
      State: 'available',
      ZoneType: 'availability-zone',
      OptInStatus: 'opt-in-not-required',
      GroupName: region,
      NetworkBorderGroup: region,
      Messages: [],
    })),
  };
}

export function describeVpcs(account: Account, input: DescribeVpcsRequest): DescribeVpcsResult {
  const vpcs = byIds(account.vpcs.values(), input.VpcIds, 'vpc', (vpc) => vpc.id);
  const found = applyFilters(
    vpcs,
    input.Filters,
    { 'vpc-id': (vpc) => vpc.id, cidr: (vpc) => vpc.cidr, state: () => 'available', 'owner-id': () => account.id },
    (vpc) => vpc.tags,
  );
  const { items, next } = page(found, input, { min: 5, max: 1000 });
  return {
    Vpcs: items.map((vpc) => ({
      VpcId: vpc.id,
      CidrBlock: vpc.cidr,
      State: 'available',
      OwnerId: account.id,
      IsDefault: false,
      Tags: tagList(vpc.tags),
    })),
    NextToken: next,
  };
}

export function describeSubnets(account: Account, input: DescribeSubnetsRequest): DescribeSubnetsResult {
  const subnets = byIds(account.subnets.values(), input.SubnetIds, 'subnet', (subnet) => subnet.id);
  const found = applyFilters(
    subnets,
    input.Filters,
    {
      'subnet-id': (subnet) => subnet.id,
      'vpc-id': (subnet) => subnet.vpcId,
      'availability-zone': (subnet) => subnet.zone,
      'availability-zone-id': (subnet) => subnet.zoneId,
      'cidr-block': (subnet) => subnet.cidr,
      'map-public-ip-on-launch': (subnet) => String(subnet.isPublic),
      'owner-id': () => account.id,
      state: () => 'available',
    },
    (subnet) => subnet.tags,
  );
  const { items, next } = page(found, input, { min: 5, max: 1000 });
  return {
    Subnets: items.map((subnet) => ({
      SubnetId: subnet.id,
      SubnetArn: `arn:aws:ec2:${account.region}:${account.id}:subnet/${subnet.id}`,
      VpcId: subnet.vpcId,
      OwnerId: account.id,
      State: 'available',
      AvailabilityZone: subnet.zone,
      AvailabilityZoneId: subnet.zoneId,
      CidrBlock: subnet.cidr,
      AvailableIpAddressCount: subnet.addresses.free(),
      MapPublicIpOnLaunch: subnet.isPublic,
      DefaultForAz: false,
      AssignIpv6AddressOnCreation: false,
      Tags: tagList(subnet.tags),
    })),
    NextToken: next,
  };
}

export function describeSecurityGroups(
  account: Account,
  input: DescribeSecurityGroupsRequest,
): DescribeSecurityGroupsResult {
  const groups = byIds(account.securityGroups.values(), input.GroupIds, 'sg', (group) => group.id);
  const unknown = input.GroupNames?.find((name) => !groups.some((group) => group.name === name));
  if (unknown) throw new AwsError('InvalidGroup.NotFound', `The security group '${unknown}' does not exist`);
  const named = groups.filter((group) => !input.GroupNames?.length || input.GroupNames.includes(group.name));
  const found = applyFilters(
    named,
    input.Filters,
    {
      'group-id': (group) => group.id,
      'group-name': (group) => group.name,
      'vpc-id': (group) => group.vpcId,
      description: (group) => group.description,
      'owner-id': () => account.id,
    },
    (group) => group.tags,
  );
  const { items, next } = page(found, input, { min: 5, max: 1000 });
  return {
    SecurityGroups: items.map((group) => ({
      GroupId: group.id,
      GroupName: group.name,
      Description: group.description,
      VpcId: group.vpcId,
      OwnerId: account.id,
      IpPermissions: [],
      IpPermissionsEgress: [],
      Tags: tagList(group.tags),
    })),
    NextToken: next,
  };
}

export function describeImages(account: Account, input: DescribeImagesRequest): DescribeImagesResult {
  const owned = (image: StoredImage): boolean =>
    !input.Owners?.length ||
    input.Owners.some((owner) =>
      owner === 'self' ? image.ownerId === account.id : owner === image.ownerId || owner === image.ownerAlias,
    );
  const now = new Date(account.clock.now()).toISOString();
  const isDeprecated = (image: StoredImage): boolean => (image.deprecationTime ?? '9999') <= now;
  const named = byIds(account.images.values(), input.ImageIds, 'ami', (image) => image.id)
    .filter(owned)
    // deprecated images of others stay hidden unless asked for, but one may always name them
    .filter(
      (image) =>
        input.IncludeDeprecated || input.ImageIds?.length || image.ownerId === account.id || !isDeprecated(image),
    );
  const found = applyFilters(
    named,
    input.Filters,
    {
      'image-id': (image) => image.id,
      name: (image) => image.name,
      architecture: (image) => image.architecture,
      'owner-id': (image) => image.ownerId,
      'owner-alias': (image) => image.ownerAlias,
      state: (image) => image.state,
      platform: (image) => (image.platform === 'windows' ? 'windows' : undefined),
      'creation-date': (image) => image.creationDate,
      'root-device-type': () => 'ebs',
      'virtualization-type': () => 'hvm',
      'image-type': () => 'machine',
      'is-public': (image) => String(image.ownerId !== account.id),
    },
    (image) => image.tags,
  );
  const { items, next } = page(found, input, { max: 1000 });
  return { Images: items.map((image) => imageView(account, image)), NextToken: next };
}

function imageView(account: Account, image: StoredImage): Image {
  const isWindows = image.platform === 'windows';
  return {
    ImageId: image.id,
    Name: image.name,
    ImageLocation: `${image.ownerAlias ?? image.ownerId}/${image.name}`,
    Description: image.name,
    Architecture: image.architecture,
    CreationDate: image.creationDate,
    ...(image.deprecationTime ? { DeprecationTime: image.deprecationTime } : {}),
    OwnerId: image.ownerId,
    ...(image.ownerAlias ? { ImageOwnerAlias: image.ownerAlias } : {}),
    ImageType: 'machine',
    State: image.state as NonNullable<Image['State']>,
    Public: image.ownerId !== account.id,
    EnaSupport: true,
    Hypervisor: 'xen',
    VirtualizationType: 'hvm',
    RootDeviceType: 'ebs',
    RootDeviceName: image.rootDeviceName,
    PlatformDetails: isWindows ? 'Windows' : 'Linux/UNIX',
    ...(isWindows ? { Platform: 'Windows' as const } : {}),
    BlockDeviceMappings: [
      {
        DeviceName: image.rootDeviceName,
        Ebs: { VolumeSize: image.rootSizeGiB, VolumeType: 'gp3', DeleteOnTermination: true, Encrypted: false },
      },
    ],
    Tags: tagList(image.tags),
  };
}

const LINUX = ['Linux/UNIX', 'Linux/UNIX (Amazon VPC)'] as const;

/** Prices in force within the window, newest first: the one that held at its start is part of it, as in EC2. */
export function describeSpotPriceHistory(
  account: Account,
  input: DescribeSpotPriceHistoryRequest,
): DescribeSpotPriceHistoryResult {
  const now = account.clock.now();
  const end = Math.min(now, input.EndTime?.getTime() ?? now);
  const start = Math.min(end, input.StartTime?.getTime() ?? end);
  const products = LINUX.filter(
    (name) => !input.ProductDescriptions?.length || input.ProductDescriptions.includes(name),
  );
  const types = input.InstanceTypes?.length ? new Set<string>(input.InstanceTypes) : undefined;
  const rows: SpotPrice[] = [];
  const { catalogue } = account;
  for (const { InstanceType: type } of catalogue.types) {
    if (!type || (types && !types.has(type))) continue;
    for (const zone of catalogue.zonesOf(type)) {
      if (input.AvailabilityZone && input.AvailabilityZone !== zone) continue;
      rows.push(...pricesOf(account, type, zone, start, end, products.at(-1)));
    }
  }
  const found = applyFilters(rows, input.Filters, {
    'availability-zone': (row) => row.AvailabilityZone,
    'instance-type': (row) => row.InstanceType,
    'product-description': (row) => row.ProductDescription,
    'spot-price': (row) => row.SpotPrice,
  });
  const size = Math.min(input.MaxResults ?? 1000, 1000);
  const { items, next } = page(found, { ...input, MaxResults: size }, { max: 1000 });
  // real answers carry an empty token on the last page
  return { SpotPriceHistory: items, NextToken: next ?? '' };
}

function pricesOf(
  { catalogue, zones }: Account,
  type: _InstanceType,
  zone: string,
  start: number,
  end: number,
  product: SpotPrice['ProductDescription'],
): SpotPrice[] {
  const rows: SpotPrice[] = [];
  if (!product) return rows;
  for (let step = Math.floor(end / SPOT_STEP_MS); step >= Math.floor(start / SPOT_STEP_MS); step -= 1) {
    const since = step * SPOT_STEP_MS;
    const usd = catalogue.spotUsd(type, zone, since);
    if (usd === undefined) break;
    rows.push({
      InstanceType: type,
      AvailabilityZone: zone,
      AvailabilityZoneId: zones.find((each) => each.name === zone)?.id,
      ProductDescription: product,
      SpotPrice: usd.toFixed(6),
      Timestamp: new Date(since),
    });
  }
  return rows;
}

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
