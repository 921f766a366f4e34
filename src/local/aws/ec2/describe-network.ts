/** Describes zones, VPCs, subnets and security groups. */
import type {
  DescribeAvailabilityZonesRequest,
  DescribeAvailabilityZonesResult,
  DescribeSecurityGroupsRequest,
  DescribeSecurityGroupsResult,
  DescribeSubnetsRequest,
  DescribeSubnetsResult,
  DescribeVpcsRequest,
  DescribeVpcsResult,
} from '@aws-sdk/client-ec2';
import { applyFilters, page } from '../filters.ts';
import type { Zone } from '../options.ts';
import type { Account } from '../state/account.ts';
import { AwsError } from '../wire/error.ts';
import { byIds } from './ids.ts';
import { ec2Tags } from './tags.ts';

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
    'zone-type': typeOf,
    'region-name': () => region,
    state: () => 'available',
    'opt-in-status': ({ parent }) => (parent === undefined ? 'opt-in-not-required' : 'opted-in'),
  });
  return {
    AvailabilityZones: found.map((zone) => ({
      ZoneName: zone.name,
      ZoneId: zone.id,
      RegionName: region,
      State: 'available',
      ZoneType: typeOf(zone),
      OptInStatus: zone.parent === undefined ? 'opt-in-not-required' : 'opted-in',
      GroupName: groupOf(zone, region),
      NetworkBorderGroup: groupOf(zone, region),
      ...(zone.parent === undefined ? {} : { ParentZoneName: zone.parent }),
      Messages: [],
    })),
  };
}

const typeOf = ({ parent }: Zone): string => (parent === undefined ? 'availability-zone' : 'local-zone');
/** A local zone has a group of its own, which is its name without the last letter. */
const groupOf = ({ name, parent }: Zone, region: string): string => (parent === undefined ? region : name.slice(0, -1));

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
      Tags: ec2Tags(vpc.tags),
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
      AssignIpv6AddressOnCreation: subnet.assignsIpv6,
      EnableDns64: subnet.dns.hasDns64,
      MapCustomerOwnedIpOnLaunch: false,
      PrivateDnsNameOptionsOnLaunch: {
        HostnameType: subnet.dns.hostnameType,
        EnableResourceNameDnsARecord: subnet.dns.hasResourceRecord,
        EnableResourceNameDnsAAAARecord: subnet.dns.hasResourceIpv6Record,
      },
      Tags: ec2Tags(subnet.tags),
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
      Tags: ec2Tags(group.tags),
    })),
    NextToken: next,
  };
}
