/** Simulates IAM policies for actions of a role that cannot be tried without performing them. */

import { type ContextEntry, type EvaluationResult, SimulatePrincipalPolicyCommand } from '@aws-sdk/client-iam';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { EC2_NODECLASS_LABEL, REGION_LABEL } from '#api/objects';
import type { Finding } from '#cloud';
import type { HttpKubeReader } from '#kube/connection';
import type { Clients } from '../clients.ts';
import { describeError } from '../errors.ts';
import { clusterPath } from '../instanceprofiles/names.ts';
import { CLUSTER_NAME_TAG, clusterOwnerTag } from '../tags.ts';
import type { FoundController } from './cluster.ts';
import { fine, policyFor, problem, unknownFinding } from './finding.ts';

const ROLE_ANNOTATION = 'eks.amazonaws.com/role-arn';
const PROFILE_ACTIONS = [
  'iam:CreateInstanceProfile',
  'iam:TagInstanceProfile',
  'iam:GetInstanceProfile',
  'iam:AddRoleToInstanceProfile',
  'iam:RemoveRoleFromInstanceProfile',
  'iam:DeleteInstanceProfile',
];
const QUEUE_ACTIONS = ['sqs:GetQueueUrl', 'sqs:ReceiveMessage', 'sqs:DeleteMessage'];

/** Returns the role that the installation's service account assumes, or undefined if it has no role annotation. */
export async function controllerRole(
  client: Pick<HttpKubeReader, 'raw'>,
  controller: FoundController | undefined,
): Promise<string | undefined> {
  const { serviceAccountName } = (controller?.deployment.spec.template.spec ?? {}) as { serviceAccountName?: string };
  if (controller === undefined || serviceAccountName === undefined) return undefined;
  const path = `/api/v1/namespaces/${controller.deployment.metadata.namespace}/serviceaccounts/${serviceAccountName}`;
  try {
    const account = (await client.raw(path)) as { metadata: { annotations?: Readonly<Record<string, string>> } };
    return account.metadata.annotations?.[ROLE_ANNOTATION];
  } catch {
    return undefined;
  }
}

/** Converts the ARN of a session to the ARN of its role. Assumes that the role has the path `/`. */
export const roleOfSession = (arn: string): string =>
  arn.replace(/^(arn:[^:]+):sts:([^:]*:[^:]*):assumed-role\/([^/]+)\/.*$/, '$1:iam:$2:role/$3');

/** Returns one finding for all allowed actions, and one finding for each action that is not allowed. */
export function findingsOf(subject: string, results: readonly EvaluationResult[]): readonly Finding[] {
  if (results.length === 0) return [];
  const refused = results.filter(({ EvalDecision }) => EvalDecision !== 'allowed');
  if (refused.length === 0) return [fine(subject, `allows ${results.map((each) => each.EvalActionName).join(', ')}`)];
  return refused.map(({ EvalActionName: action = '', EvalDecision: decision }) =>
    problem(
      subject,
      `${action}: ${decision === 'explicitDeny' ? 'a policy denies it' : 'no policy allows it'}`,
      decision === 'explicitDeny'
        ? `find the statement that denies ${action}, also in permission boundaries and service control policies`
        : `allow ${action} in ${policyFor(action)}, attached to the role`,
    ),
  );
}

const entries = (keys: Readonly<Record<string, string>>): ContextEntry[] =>
  Object.entries(keys).map(([ContextKeyName, value]) => ({
    ContextKeyName,
    ContextKeyType: 'string',
    ContextKeyValues: [value],
  }));

export interface SimulatedScope {
  readonly clients: Clients;
  readonly clusterName: string;
  /** Empty if no interruption queue is configured. */
  readonly queueName: string;
  /** ARN. Defaults to the role of the caller. */
  readonly role: string | undefined;
  /** Names of the node roles that the NodeClasses set. */
  readonly nodeRoles: readonly string[];
}

async function caller(region: string): Promise<string> {
  const sts = new STSClient({ region });
  try {
    return roleOfSession((await sts.send(new GetCallerIdentityCommand({}))).Arn ?? '');
  } finally {
    sts.destroy();
  }
}

/**
 * Simulates instance profile calls, iam:PassRole and reads of the queue. Conditions see the tags that the operator
 * sends.
 */
export async function simulateCalls(scope: SimulatedScope): Promise<readonly Finding[]> {
  const { clients, clusterName, queueName, role, nodeRoles } = scope;
  const { iam, region } = clients;
  let principal = role ?? 'the caller';
  const subject = (): string => `IAM of ${principal}`;
  const tags = {
    [clusterOwnerTag(clusterName)]: 'owned',
    [CLUSTER_NAME_TAG]: clusterName,
    [REGION_LABEL]: region,
    [EC2_NODECLASS_LABEL]: 'doctor',
  };
  const tagged = Object.entries(tags).flatMap(([key, value]) => [
    [`aws:RequestTag/${key}`, value],
    [`aws:ResourceTag/${key}`, value],
  ]);
  try {
    principal = role ?? (await caller(region));
    const [, partition = 'aws', , , account = ''] = principal.split(':');
    const ask = async (ActionNames: string[], ResourceArns: string[], context: Readonly<Record<string, string>>) => {
      const answer = await iam.send(
        new SimulatePrincipalPolicyCommand({
          PolicySourceArn: principal,
          ActionNames,
          ResourceArns,
          ContextEntries: entries(context),
        }),
      );
      return answer.EvaluationResults ?? [];
    };
    const profile = `arn:${partition}:iam::${account}:instance-profile${clusterPath({ region, cluster: clusterName })}x`;
    const queue = `arn:${partition}:sqs:${region}:${account}:${queueName}`;
    const results = await Promise.all([
      // No instance profile is created if no NodeClass sets a role.
      ...(nodeRoles.length === 0
        ? []
        : [
            ask(PROFILE_ACTIONS, [profile], Object.fromEntries(tagged)),
            ask(
              ['iam:PassRole'],
              nodeRoles.map((name) => `arn:${partition}:iam::${account}:role/${name}`),
              { 'iam:PassedToService': 'ec2.amazonaws.com' },
            ),
          ]),
      ...(queueName === '' ? [] : [ask(QUEUE_ACTIONS, [queue], {})]),
    ]);
    return findingsOf(subject(), results.flat());
  } catch (error) {
    return [
      unknownFinding(
        subject(),
        `cannot be simulated: ${describeError(error)}`,
        `run doctor with iam:SimulatePrincipalPolicy to check if instance profiles can be created`,
      ),
    ];
  }
}
