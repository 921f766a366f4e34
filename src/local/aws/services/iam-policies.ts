/**
 * Policies of IAM roles. The local AWS does not distinguish callers, so policies that allow actions have no effect. An
 * action that a policy denies fails for all callers, through a fault with the lifetime of the policy.
 */
import type {
  AttachRolePolicyRequest,
  DeleteRolePolicyRequest,
  GetRolePolicyRequest,
  ListRolePoliciesRequest,
  PutRolePolicyRequest,
} from '@aws-sdk/client-iam';
import { tryRun } from '#lib';
import type { Account } from '../state/account.ts';
import type { StoredRole } from '../state/stored.ts';
import { AwsError } from '../wire/error.ts';
import type { Handlers } from '../wire/service.ts';

/** @param roleOf throws NoSuchEntity if the role does not exist */
export const rolePolicyHandlers = (account: Account, roleOf: (name: string | undefined) => StoredRole): Handlers => ({
  PutRolePolicy: ({ RoleName: role, PolicyName: name = '', PolicyDocument: document = '' }: PutRolePolicyRequest) => {
    const { policies } = roleOf(role);
    const denied = deniedActions(document);
    end(account, policies.get(name)?.faults);
    const faults = denied.map((action) => account.faults.add(denial(action)));
    policies.set(name, { document, faults });
    return {};
  },

  GetRolePolicy: ({ RoleName: role, PolicyName: name = '' }: GetRolePolicyRequest) => ({
    RoleName: role,
    PolicyName: name,
    PolicyDocument: encodeURIComponent(policyOf(roleOf(role), name).document),
  }),

  DeleteRolePolicy: ({ RoleName: role, PolicyName: name = '' }: DeleteRolePolicyRequest) => {
    const stored = roleOf(role);
    end(account, policyOf(stored, name).faults);
    stored.policies.delete(name);
    return {};
  },

  ListRolePolicies: ({ RoleName: role }: ListRolePoliciesRequest) => ({
    PolicyNames: [...roleOf(role).policies.keys()],
    IsTruncated: false,
  }),

  AttachRolePolicy: ({ RoleName: role, PolicyArn: arn = '' }: AttachRolePolicyRequest) => {
    roleOf(role).attached.add(arn);
    return {};
  },

  DetachRolePolicy: ({ RoleName: role, PolicyArn: arn = '' }: AttachRolePolicyRequest) => {
    if (roleOf(role).attached.delete(arn)) return {};
    throw new AwsError('NoSuchEntity', `Policy ${arn} was not found.`, 404);
  },

  ListAttachedRolePolicies: ({ RoleName: role }: ListRolePoliciesRequest) => ({
    AttachedPolicies: [...roleOf(role).attached].map((PolicyArn) => ({
      PolicyArn,
      PolicyName: PolicyArn.slice(PolicyArn.lastIndexOf('/') + 1),
    })),
    IsTruncated: false,
  }),
});

const policyOf = ({ name: role, policies }: StoredRole, name: string) => {
  const found = policies.get(name);
  if (found) return found;
  throw new AwsError('NoSuchEntity', `The role policy with name ${name} cannot be found for role ${role}.`, 404);
};

const end = (account: Account, faults: readonly string[] = []): void => {
  for (const id of faults) account.faults.clear(id);
};

interface Statement {
  readonly Effect?: string;
  readonly Action?: string | readonly string[];
}

/** Returns `service:Action` of every statement that denies actions. @throws AwsError MalformedPolicyDocument */
function deniedActions(document: string): readonly string[] {
  const parsed = tryRun(() => JSON.parse(document) as { Statement?: Statement | readonly Statement[] } | null);
  const statements = parsed?.Statement;
  if (statements === undefined) throw new AwsError('MalformedPolicyDocument', 'Syntax errors in policy.');
  return [statements].flat().flatMap(({ Effect, Action = [] }) => (Effect === 'Deny' ? [Action].flat() : []));
}

function denial(action: string) {
  const [service = '', name = '*'] = action.includes(':') ? action.split(':') : ['', action];
  const message = `User is not authorized to perform: ${action} with an explicit deny in an identity-based policy`;
  const code =
    service === 'ec2' ? 'UnauthorizedOperation' : service === 'iam' ? 'AccessDenied' : 'AccessDeniedException';
  return { kind: 'error', action: name, code, message, status: 403 } as const;
}
