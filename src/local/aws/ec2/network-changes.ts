/** Changes subnets and security groups. */
import type {
  CreateSecurityGroupRequest,
  CreateSecurityGroupResult,
  DeleteSecurityGroupRequest,
  DeleteSecurityGroupResult,
  ModifySubnetAttributeRequest,
} from '@aws-sdk/client-ec2';
import type { Account } from '../state/account.ts';
import { AwsError, missingParameter } from '../wire/error.ts';
import { refuseDryRun } from './dry-run.ts';
import { notFound } from './ids.ts';
import { specifiedTags, tagList } from './tags.ts';

/**
 * Changes an attribute of a subnet. The only supported attribute is the assignment of public addresses to new
 * instances.
 */
export function modifySubnetAttribute(account: Account, input: ModifySubnetAttributeRequest): object {
  const id = input.SubnetId ?? '';
  const subnet = account.subnets.get(id);
  if (!subnet) throw notFound(id, 'subnet');
  const value = input.MapPublicIpOnLaunch?.Value;
  if (value === undefined) {
    throw new AwsError(
      'InvalidParameterCombination',
      'Specify MapPublicIpOnLaunch; the local AWS does not support other attributes of subnets.',
    );
  }
  subnet.isPublic = value;
  return {};
}

export function createSecurityGroup(account: Account, input: CreateSecurityGroupRequest): CreateSecurityGroupResult {
  const { GroupName: name, Description: description, VpcId: vpcId = [...account.vpcs.keys()][0] ?? '' } = input;
  if (!name) throw missingParameter('GroupName');
  if (!description) throw missingParameter('GroupDescription');
  if (!account.vpcs.has(vpcId)) throw notFound(vpcId, 'vpc');
  if ([...account.securityGroups.values()].some((group) => group.name === name && group.vpcId === vpcId)) {
    throw new AwsError('InvalidGroup.Duplicate', `The security group '${name}' already exists for VPC '${vpcId}'`);
  }
  const tags = specifiedTags(input.TagSpecifications, 'security-group');
  refuseDryRun(input);
  const id = account.random.id('sg');
  account.securityGroups.set(id, { id, name, description, vpcId, tags });
  const arn = `arn:aws:ec2:${account.region}:${account.id}:security-group/${id}`;
  return { GroupId: id, SecurityGroupArn: arn, Tags: tagList(tags) };
}

export function deleteSecurityGroup(account: Account, input: DeleteSecurityGroupRequest): DeleteSecurityGroupResult {
  const { GroupId: id, GroupName: name } = input;
  if (!id && !name) throw missingParameter('GroupId');
  const group = [...account.securityGroups.values()].find((each) => (id ? each.id === id : each.name === name));
  if (!group) {
    if (id) throw notFound(id, 'sg');
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
