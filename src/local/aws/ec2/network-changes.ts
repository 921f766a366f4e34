/** Changes subnets and security groups. */
import type {
  CreateSecurityGroupRequest,
  CreateSecurityGroupResult,
  DeleteSecurityGroupRequest,
  DeleteSecurityGroupResult,
  ModifySubnetAttributeRequest,
} from '@aws-sdk/client-ec2';
import type { Account } from '../state/account.ts';
import type { Subnet } from '../state/network.ts';
import { AwsError, invalidValue, missingParameter } from '../wire/error.ts';
import { refuseDryRun } from './dry-run.ts';
import { unknownId } from './ids.ts';
import { ec2Tags, specifiedTags } from './tags.ts';

/** Attributes of subnets on an Outpost, which the local AWS does not have. */
const OUTPOST_ATTRIBUTES: ReadonlySet<string> = new Set([
  ...['MapCustomerOwnedIpOnLaunch', 'CustomerOwnedIpv4Pool'],
  ...['EnableLniAtDeviceIndex', 'DisableLniAtDeviceIndex'],
]);

/** Attributes that can be changed, one per request. */
const SUBNET_ATTRIBUTES: Readonly<Record<string, (subnet: Subnet, input: ModifySubnetAttributeRequest) => void>> = {
  MapPublicIpOnLaunch: (subnet, { MapPublicIpOnLaunch: change }) => {
    subnet.isPublic = change?.Value ?? false;
  },
  AssignIpv6AddressOnCreation: (subnet, { AssignIpv6AddressOnCreation: change }) => {
    subnet.assignsIpv6 = change?.Value ?? false;
  },
  EnableDns64: (subnet, { EnableDns64: change }) => {
    subnet.dns = { ...subnet.dns, hasDns64: change?.Value ?? false };
  },
  EnableResourceNameDnsAAAARecordOnLaunch: (subnet, { EnableResourceNameDnsAAAARecordOnLaunch: change }) => {
    subnet.dns = { ...subnet.dns, hasResourceIpv6Record: change?.Value ?? false };
  },
  PrivateDnsHostnameTypeOnLaunch: (subnet, { PrivateDnsHostnameTypeOnLaunch: type }) => {
    if (type !== 'ip-name' && type !== 'resource-name') throw invalidValue('PrivateDnsHostnameTypeOnLaunch', type);
    subnet.dns = { ...subnet.dns, hostnameType: type };
  },
  EnableResourceNameDnsARecordOnLaunch: (subnet, { EnableResourceNameDnsARecordOnLaunch: change }) => {
    subnet.dns = { ...subnet.dns, hasResourceRecord: change?.Value ?? false };
  },
};

/** Changes an attribute of a subnet: the addresses or the host names of new instances. */
export function modifySubnetAttribute(account: Account, input: ModifySubnetAttributeRequest): object {
  const id = input.SubnetId ?? '';
  const subnet = account.subnets.get(id);
  if (!subnet) throw unknownId(id, 'subnet');
  const names = Object.keys(input).filter((name) => name !== 'SubnetId');
  const [name = '', ...others] = names;
  if (OUTPOST_ATTRIBUTES.has(name))
    throw new AwsError('InvalidParameterValue', `${name} requires a subnet on an Outpost, and ${id} is in a zone.`);
  const change = Object.hasOwn(SUBNET_ATTRIBUTES, name) ? SUBNET_ATTRIBUTES[name] : undefined;
  if (change === undefined || others.length > 0) {
    throw new AwsError(
      'InvalidParameterCombination',
      `Specify one of the attributes that the local AWS supports: ${Object.keys(SUBNET_ATTRIBUTES).join(', ')}.`,
    );
  }
  change(subnet, input);
  return {};
}

export function createSecurityGroup(account: Account, input: CreateSecurityGroupRequest): CreateSecurityGroupResult {
  const { GroupName: name, Description: description, VpcId: vpcId = [...account.vpcs.keys()][0] ?? '' } = input;
  if (!name) throw missingParameter('GroupName');
  if (!description) throw missingParameter('GroupDescription');
  if (!account.vpcs.has(vpcId)) throw unknownId(vpcId, 'vpc');
  if ([...account.securityGroups.values()].some((group) => group.name === name && group.vpcId === vpcId)) {
    throw new AwsError('InvalidGroup.Duplicate', `The security group '${name}' already exists for VPC '${vpcId}'`);
  }
  const tags = specifiedTags(input.TagSpecifications, 'security-group');
  refuseDryRun(input);
  const id = account.random.id('sg');
  account.securityGroups.set(id, { id, name, description, vpcId, tags });
  const arn = `arn:aws:ec2:${account.region}:${account.id}:security-group/${id}`;
  return { GroupId: id, SecurityGroupArn: arn, Tags: ec2Tags(tags) };
}

export function deleteSecurityGroup(account: Account, input: DeleteSecurityGroupRequest): DeleteSecurityGroupResult {
  const { GroupId: id, GroupName: name } = input;
  if (!id && !name) throw missingParameter('GroupId');
  const group = [...account.securityGroups.values()].find((each) => (id ? each.id === id : each.name === name));
  if (!group) {
    if (id) throw unknownId(id, 'sg');
    throw new AwsError('InvalidGroup.NotFound', `The security group '${name ?? ''}' does not exist`);
  }
  const isUsed = account.machines
    .all()
    .some(
      ({ state, interfaces }) =>
        state !== 'terminated' && interfaces.some(({ securityGroupIds }) => securityGroupIds.includes(group.id)),
    );
  if (isUsed) throw new AwsError('DependencyViolation', `resource ${group.id} has a dependent object`);
  refuseDryRun(input);
  account.securityGroups.delete(group.id);
  return { Return: true, GroupId: group.id };
}
