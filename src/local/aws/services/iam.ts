/** Instance profiles and roles of IAM. */
import type {
  AddRoleToInstanceProfileRequest,
  CreateInstanceProfileRequest,
  CreateRoleRequest,
  CreateServiceLinkedRoleRequest,
  DeleteInstanceProfileRequest,
  GetInstanceProfileRequest,
  GetRoleRequest,
  InstanceProfile,
  ListInstanceProfilesRequest,
  ListInstanceProfilesResponse,
  ListInstanceProfileTagsRequest,
  ListRolesRequest,
  RemoveRoleFromInstanceProfileRequest,
  Role,
  SimulatePrincipalPolicyRequest,
  Tag,
  TagInstanceProfileRequest,
  UntagInstanceProfileRequest,
} from '@aws-sdk/client-iam';
import { page } from '../filters.ts';
import type { Account } from '../state/account.ts';
import type { StoredProfile, StoredRole } from '../state/stored.ts';
import type { Tags } from '../types.ts';
import { AwsError } from '../wire/error.ts';
import type { Handlers } from '../wire/service.ts';
import { rolePolicyHandlers } from './iam-policies.ts';

const tagList = (tags: Tags): Tag[] => Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
const tagRecord = (tags: readonly Tag[] | undefined): Tags =>
  Object.fromEntries((tags ?? []).map(({ Key: key = '', Value: value = '' }) => [key, value]));

const NODE_TRUST = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Principal: { Service: 'ec2.amazonaws.com' }, Action: 'sts:AssumeRole' }],
});

/** Adds a role. The default trust policy is for nodes. @throws AwsError EntityAlreadyExists */
export function addRole(
  account: Account,
  name: string,
  path = '/',
  trustPolicy = NODE_TRUST,
  tags: Tags = {},
): StoredRole {
  if (account.roles.has(name)) throw new AwsError('EntityAlreadyExists', `Role with name ${name} already exists.`, 409);
  const role: StoredRole = {
    name,
    id: account.random.id('AROA').replaceAll('-', '').toUpperCase(),
    arn: `arn:aws:iam::${account.id}:role${path}${name}`,
    path,
    createdAt: account.clock.now(),
    trustPolicy,
    policies: new Map(),
    attached: new Set(),
    tags,
  };
  account.roles.set(name, role);
  return role;
}

export function addProfile(account: Account, name: string, path = '/', tags: Tags = {}): StoredProfile {
  if (account.profiles.has(name)) {
    throw new AwsError('EntityAlreadyExists', `Instance Profile ${name} already exists.`, 409);
  }
  const profile: StoredProfile = {
    name,
    id: account.random.id('AIPA').replaceAll('-', '').toUpperCase(),
    arn: `arn:aws:iam::${account.id}:instance-profile${path}${name}`,
    path,
    createdAt: account.clock.now(),
    roles: [],
    tags,
  };
  account.profiles.set(name, profile);
  return profile;
}

export const iamHandlers = (account: Account): Handlers => ({
  ...profileHandlers(account),
  ...profileTagHandlers(account),
  ...roleHandlers(account),
  ...linkedRoleHandlers(account),
  ...rolePolicyHandlers(account, (name) => roleOf(account, name)),

  // Returns that all actions are allowed. Faults can still make them fail.
  SimulatePrincipalPolicy: ({ ActionNames: names = [] }: SimulatePrincipalPolicyRequest) => ({
    EvaluationResults: names.map((EvalActionName) => ({ EvalActionName, EvalDecision: 'allowed' })),
    IsTruncated: false,
  }),
});

function profileOf(account: Account, name = ''): StoredProfile {
  const found = account.profiles.get(name);
  if (!found) throw new AwsError('NoSuchEntity', `Instance Profile ${name} cannot be found.`, 404);
  return found;
}

function roleOf(account: Account, name = ''): StoredRole {
  const found = account.roles.get(name);
  if (!found) throw new AwsError('NoSuchEntity', `The role with name ${name} cannot be found.`, 404);
  return found;
}

const roleView = (stored: StoredRole): Role => ({
  RoleName: stored.name,
  RoleId: stored.id,
  Arn: stored.arn,
  Path: stored.path,
  CreateDate: new Date(stored.createdAt),
  AssumeRolePolicyDocument: encodeURIComponent(stored.trustPolicy),
  Tags: tagList(stored.tags),
});

const profileView = (account: Account, stored: StoredProfile): InstanceProfile => ({
  InstanceProfileName: stored.name,
  InstanceProfileId: stored.id,
  Arn: stored.arn,
  Path: stored.path,
  CreateDate: new Date(stored.createdAt),
  Roles: stored.roles.flatMap((name) => {
    const found = account.roles.get(name);
    return found ? [roleView(found)] : [];
  }),
  Tags: tagList(stored.tags),
});

/** Handlers of instance profiles and their roles. */
const profileHandlers = (account: Account): Handlers => ({
  GetInstanceProfile: ({ InstanceProfileName: name }: GetInstanceProfileRequest) => ({
    InstanceProfile: profileView(account, profileOf(account, name)),
  }),

  CreateInstanceProfile: ({
    InstanceProfileName: name = '',
    Path: path = '/',
    Tags: tags,
  }: CreateInstanceProfileRequest) => {
    checkName('instanceProfileName', name);
    checkPath(path);
    return { InstanceProfile: profileView(account, addProfile(account, name, path, tagRecord(tags))) };
  },

  DeleteInstanceProfile: ({ InstanceProfileName: name }: DeleteInstanceProfileRequest) => {
    const found = profileOf(account, name);
    if (found.roles.length > 0) {
      throw new AwsError('DeleteConflict', 'Cannot delete entity, must remove roles from instance profile first.', 409);
    }
    account.profiles.delete(found.name);
    return {};
  },

  AddRoleToInstanceProfile: ({ InstanceProfileName: name, RoleName: roleName }: AddRoleToInstanceProfileRequest) => {
    const found = profileOf(account, name);
    const added = roleOf(account, roleName);
    if (found.roles.length > 0) {
      throw new AwsError('LimitExceeded', 'Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1', 409);
    }
    found.roles = [added.name];
    return {};
  },

  RemoveRoleFromInstanceProfile: ({
    InstanceProfileName: name,
    RoleName: roleName,
  }: RemoveRoleFromInstanceProfileRequest) => {
    const found = profileOf(account, name);
    if (!found.roles.includes(roleName ?? '')) {
      throw new AwsError('NoSuchEntity', `The role with name ${roleName} cannot be found.`, 404);
    }
    found.roles = found.roles.filter((each) => each !== roleName);
    return {};
  },
});

/** Handlers of tags and lists of instance profiles. */
const profileTagHandlers = (account: Account): Handlers => ({
  TagInstanceProfile: ({ InstanceProfileName: name, Tags: tags }: TagInstanceProfileRequest) => {
    const found = profileOf(account, name);
    found.tags = { ...found.tags, ...tagRecord(tags) };
    return {};
  },

  UntagInstanceProfile: ({ InstanceProfileName: name, TagKeys: keys = [] }: UntagInstanceProfileRequest) => {
    const found = profileOf(account, name);
    found.tags = Object.fromEntries(Object.entries(found.tags).filter(([key]) => !keys.includes(key)));
    return {};
  },

  ListInstanceProfileTags: ({ InstanceProfileName: name }: ListInstanceProfileTagsRequest) => ({
    Tags: tagList(profileOf(account, name).tags),
    IsTruncated: false,
  }),

  ListInstanceProfiles: (input: ListInstanceProfilesRequest): ListInstanceProfilesResponse => {
    const found = [...account.profiles.values()].filter((each) => each.path.startsWith(input.PathPrefix ?? '/'));
    const { items, next } = page(
      found,
      { MaxResults: input.MaxItems, NextToken: input.Marker },
      { max: 1000, fallback: 100 },
    );
    return {
      InstanceProfiles: items.map((each) => profileView(account, each)),
      IsTruncated: next !== undefined,
      Marker: next,
    };
  },
});

/** Handlers of roles. */
const roleHandlers = (account: Account): Handlers => ({
  ListRoles: (input: ListRolesRequest) => {
    const { PathPrefix: prefix = '/', MaxItems, Marker } = input;
    const found = [...account.roles.values()].filter(({ path }) => path.startsWith(prefix));
    const { items, next } = page(found, { MaxResults: MaxItems, NextToken: Marker }, { max: 1000 });
    return { Roles: items.map(roleView), IsTruncated: next !== undefined, ...(next ? { Marker: next } : {}) };
  },

  GetRole: ({ RoleName: name }: GetRoleRequest) => ({ Role: roleView(roleOf(account, name)) }),

  CreateRole: ({
    RoleName: name = '',
    Path: path = '/',
    AssumeRolePolicyDocument: policy,
    Tags: tags,
  }: CreateRoleRequest) => {
    checkName('roleName', name);
    checkPath(path);
    return { Role: roleView(addRole(account, name, path, policy, tagRecord(tags))) };
  },

  DeleteRole: ({ RoleName: name }: GetRoleRequest) => {
    const found = roleOf(account, name);
    const isUsed = [...account.profiles.values()].some((each) => each.roles.includes(found.name));
    if (isUsed)
      throw new AwsError('DeleteConflict', 'Cannot delete entity, must remove roles from instance profile first.', 409);
    if (found.policies.size > 0)
      throw new AwsError('DeleteConflict', 'Cannot delete entity, must delete policies first.', 409);
    if (found.attached.size > 0)
      throw new AwsError('DeleteConflict', 'Cannot delete entity, must detach all policies first.', 409);
    account.roles.delete(found.name);
    return {};
  },
});

/** Handlers of service-linked roles. */
const linkedRoleHandlers = (account: Account): Handlers => ({
  /** The creation of the role for EC2 Spot also removes the fault for the missing role. */
  CreateServiceLinkedRole: ({ AWSServiceName: service = '' }: CreateServiceLinkedRoleRequest) => {
    const name =
      service === 'spot.amazonaws.com' ? 'AWSServiceRoleForEC2Spot' : `AWSServiceRoleFor${service.split('.')[0]}`;
    const isMissing = service === 'spot.amazonaws.com' && account.faults.isSpotRoleMissing();
    if (account.roles.has(name) && !isMissing) {
      throw new AwsError(
        'InvalidInput',
        `Service role name ${name} has been taken in this account, please try a different suffix.`,
      );
    }
    const created = account.roles.get(name) ?? addRole(account, name, `/aws-service-role/${service}/`);
    for (const { id, rule } of account.faults.list()) {
      if (isMissing && rule.kind === 'no-spot-role') account.faults.clear(id);
    }
    return { Role: roleView(created) };
  },
});

function checkName(field: string, name: string): void {
  if (/^[\w+=,.@-]{1,128}$/.test(name)) return;
  throw new AwsError('ValidationError', `The specified value for ${field} is invalid: "${name}"`);
}

function checkPath(path: string): void {
  if (/^\/$|^\/[\x21-\x7e]+\/$/.test(path) && path.length <= 512) return;
  throw new AwsError('ValidationError', `The specified value for path is invalid: "${path}" must begin and end with /`);
}
