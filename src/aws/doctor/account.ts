/** Checks of the account: identity, permissions, cluster, interruption queue and the service-linked role for spot. */

import {
  DescribeCapacityReservationsCommand,
  DescribeImagesCommand,
  DescribeInstanceStatusCommand,
  DescribeInstancesCommand,
  DescribeInstanceTypeOfferingsCommand,
  DescribeInstanceTypesCommand,
  DescribeLaunchTemplatesCommand,
  DescribePlacementGroupsCommand,
  DescribeSecurityGroupsCommand,
  DescribeSpotPriceHistoryCommand,
  DescribeSubnetsCommand,
} from '@aws-sdk/client-ec2';
import { DescribeClusterCommand } from '@aws-sdk/client-eks';
import { GetRoleCommand, ListInstanceProfilesCommand } from '@aws-sdk/client-iam';
import { GetProductsCommand } from '@aws-sdk/client-pricing';
import { GetQueueAttributesCommand, GetQueueUrlCommand } from '@aws-sdk/client-sqs';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import type { Finding } from '#cloud';
import type { Clients } from '../clients.ts';
import { describeError, isNotFound } from '../errors.ts';
import { signedRequest } from '../signed.ts';
import { checkPermission, fine, isDenied, problem, unknownFinding, warning } from './finding.ts';

const SPOT_ROLE = 'AWSServiceRoleForEC2Spot';

/** `queueName` is empty if no interruption queue is configured. */
export async function account(
  clients: Clients,
  { clusterName, queueName }: { readonly clusterName: string; readonly queueName: string },
): Promise<readonly Finding[]> {
  const findings = await Promise.all([
    identity(clients),
    cluster(clients, clusterName),
    permissions(clients, clusterName),
    queue(clients, queueName),
    spotRole(clients),
  ]);
  return findings.flat();
}

async function identity({ region }: Clients): Promise<Finding> {
  const sts = new STSClient({ region });
  try {
    const { Arn = '' } = await sts.send(new GetCallerIdentityCommand({}));
    return fine('identity', `${Arn}: the following calls are tried with this identity`);
  } catch (error) {
    const fix = 'configure credentials: a profile, environment variables, or the role of the pod';
    return problem('identity', describeError(error), fix);
  } finally {
    sts.destroy();
  }
}

/** Tries each call of the operator that can be tried without changes to the account. */
function permissions(clients: Clients, clusterName: string): Promise<readonly Finding[]> {
  const { ec2Once: ec2, iam, ssm, pricing, region } = clients;
  const DryRun = true;
  const parameter = '/aws/service/global-infrastructure/current-region';
  return Promise.all([
    checkPermission('ec2:DescribeInstanceTypes', () => ec2.send(new DescribeInstanceTypesCommand({ DryRun }))),
    checkPermission('ec2:DescribeInstanceTypeOfferings', () =>
      ec2.send(new DescribeInstanceTypeOfferingsCommand({ DryRun })),
    ),
    checkPermission('ec2:DescribeInstances', () => ec2.send(new DescribeInstancesCommand({ DryRun }))),
    checkPermission('ec2:DescribeImages', () => ec2.send(new DescribeImagesCommand({ DryRun }))),
    checkPermission('ec2:DescribeSubnets', () => ec2.send(new DescribeSubnetsCommand({ DryRun }))),
    checkPermission('ec2:DescribeSecurityGroups', () => ec2.send(new DescribeSecurityGroupsCommand({ DryRun }))),
    checkPermission('ec2:DescribeLaunchTemplates', () => ec2.send(new DescribeLaunchTemplatesCommand({ DryRun }))),
    checkPermission('ec2:DescribeSpotPriceHistory', () => ec2.send(new DescribeSpotPriceHistoryCommand({ DryRun }))),
    checkPermission(
      'ec2:DescribeInstanceStatus',
      () => ec2.send(new DescribeInstanceStatusCommand({ DryRun })),
      'warning',
    ),
    checkPermission(
      'ec2:DescribeCapacityReservations',
      () => ec2.send(new DescribeCapacityReservationsCommand({ DryRun })),
      'warning',
    ),
    checkPermission(
      'ec2:DescribePlacementGroups',
      () => ec2.send(new DescribePlacementGroupsCommand({ DryRun })),
      'warning',
    ),
    checkPermission('ssm:GetParameter', () =>
      ssm.send(new GetParameterCommand({ Name: parameter })).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      }),
    ),
    checkPermission(
      'pricing:GetProducts',
      () => pricing.send(new GetProductsCommand({ ServiceCode: 'AmazonEC2', MaxResults: 1 })),
      'warning',
    ),
    checkPermission('iam:ListInstanceProfiles', () =>
      iam.send(new ListInstanceProfilesCommand({ PathPrefix: `/karpenter/${region}/${clusterName}/`, MaxItems: 1 })),
    ),
  ]);
}

async function cluster({ eks }: Clients, name: string): Promise<Finding> {
  const subject = `EKS cluster ${name}`;
  try {
    const { cluster: found } = await eks.send(new DescribeClusterCommand({ name }));
    return fine(subject, `${found?.status ?? 'unknown state'}, Kubernetes ${found?.version ?? 'of unknown version'}`);
  } catch (error) {
    const fix = isDenied(error)
      ? 'allow eks:DescribeCluster in KarpenterControllerEKSIntegrationPolicy, or set --cluster-endpoint and --cluster-ca-bundle'
      : `check --cluster-name and the region; a cluster outside of EKS needs --cluster-endpoint and --cluster-ca-bundle`;
    return problem(subject, describeError(error), fix);
  }
}

async function queue(clients: Clients, name: string): Promise<readonly Finding[]> {
  const { sqs } = clients;
  const subject = `queue ${name}`;
  if (name === '')
    return [
      warning(
        'interruption queue',
        'no queue is set, so spot interruptions and maintenance terminate nodes without a drain',
        'create the queue and rules of examples/aws, and set --interruption-queue',
      ),
    ];
  let url: string | undefined;
  try {
    url = (await sqs.send(new GetQueueUrlCommand({ QueueName: name }))).QueueUrl;
  } catch (error) {
    const fix = isDenied(error)
      ? 'allow sqs:GetQueueUrl in KarpenterControllerInterruptionPolicy'
      : 'create the queue of examples/aws, or correct --interruption-queue';
    return [problem(subject, describeError(error), fix)];
  }
  try {
    const { Attributes: attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['Policy', 'QueueArn'] }),
    );
    return [
      queuePolicy(subject, attributes.Policy),
      ...(attributes.QueueArn === undefined ? [] : [await eventRules(clients, name, attributes.QueueArn)]),
    ];
  } catch (error) {
    // The controller does not need this permission, so its absence is not a problem.
    const fix = `run doctor with sqs:GetQueueAttributes to check the policy of the queue`;
    return [unknownFinding(subject, `exists; its policy cannot be read: ${describeError(error)}`, fix)];
  }
}

const list = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

/** Checks if the text of the policy allows EventBridge to send messages. Does not evaluate conditions. */
function queuePolicy(subject: string, text: string | undefined): Finding {
  const fix = 'allow sqs:SendMessage for the service events.amazonaws.com, as KarpenterInterruptionQueuePolicy does';
  if (text === undefined) return problem(subject, 'has no policy, so EventBridge cannot send messages to it', fix);
  const { Statement } = JSON.parse(text) as { readonly Statement?: unknown };
  const sends = (list(Statement) as readonly Readonly<Record<string, unknown>>[]).some(
    ({ Effect, Action, Principal }) =>
      Effect === 'Allow' &&
      list(Action).some((action) =>
        ['sqs:SendMessage', 'SQS:SendMessage', 'sqs:*', 'SQS:*', '*'].includes(String(action)),
      ) &&
      (Principal === '*' ||
        list((Principal as { readonly Service?: unknown } | undefined)?.Service).includes('events.amazonaws.com')),
  );
  return sends
    ? fine(subject, 'exists, and EventBridge is allowed to send messages to it')
    : problem(subject, 'the policy does not allow EventBridge to send messages to it', fix);
}

async function spotRole({ iam }: Clients): Promise<Finding> {
  const fix = 'aws iam create-service-linked-role --aws-service-name spot.amazonaws.com';
  try {
    await iam.send(new GetRoleCommand({ RoleName: SPOT_ROLE }));
    return fine(SPOT_ROLE, 'exists');
  } catch (error) {
    if (isNotFound(error)) return warning(SPOT_ROLE, 'does not exist, so the first spot launch fails', fix);
    return unknownFinding(SPOT_ROLE, `cannot be read: ${describeError(error)}`, `make sure that it exists: ${fix}`);
  }
}

/** Events that announce the end of nodes. Without the last event type, reserved instances end without warning. */
const WANTED: readonly (readonly [source: string, detailType: string])[] = [
  ['aws.ec2', 'EC2 Spot Instance Interruption Warning'],
  ['aws.ec2', 'EC2 Instance Rebalance Recommendation'],
  ['aws.ec2', 'EC2 Instance State-change Notification'],
  ['aws.health', 'AWS Health Event'],
  ['aws.ec2', 'EC2 Capacity Reservation Instance Interruption Warning'],
];

interface Rule {
  readonly State?: string;
  readonly EventPattern?: string;
}

interface Pattern {
  readonly source?: readonly string[];
  readonly 'detail-type'?: readonly string[];
  /** Further restriction of the events. The check ignores it. */
  readonly detail?: unknown;
}

async function ask<T>({ eks, region }: Clients, action: string, input: object): Promise<T> {
  const text = await signedRequest(eks, {
    service: 'events',
    region,
    path: '/',
    body: JSON.stringify(input),
    headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `AWSEvents.${action}` },
  });
  return JSON.parse(text) as T;
}

async function rulesOf(clients: Clients, queueArn: string): Promise<readonly Rule[]> {
  const { RuleNames = [] } = await ask<{ readonly RuleNames?: readonly string[] }>(clients, 'ListRuleNamesByTarget', {
    TargetArn: queueArn,
  });
  return Promise.all(RuleNames.map((Name) => ask<Rule>(clients, 'DescribeRule', { Name })));
}

function covers({ State, EventPattern }: Rule, [source, detailType]: (typeof WANTED)[number]): boolean {
  if (State !== 'ENABLED' || EventPattern === undefined) return false;
  const pattern = JSON.parse(EventPattern) as Pattern;
  const all = (list: readonly string[] | undefined, value: string): boolean => list?.includes(value) ?? true;
  return all(pattern.source, source) && all(pattern['detail-type'], detailType);
}

/** Checks if EventBridge rules send every event type that the operator handles to the interruption queue. */
async function eventRules(clients: Clients, queueName: string, queueArn: string): Promise<Finding> {
  const subject = `EventBridge rules for ${queueName}`;
  let rules: readonly Rule[];
  try {
    rules = await rulesOf(clients, queueArn);
  } catch (error) {
    return unknownFinding(
      subject,
      `cannot be read: ${describeError(error)}`,
      'run doctor with events:ListRuleNamesByTarget and events:DescribeRule, or compare the rules with examples/aws',
    );
  }
  const missing = WANTED.filter((wanted) => !rules.some((rule) => covers(rule, wanted)));
  if (missing.length === 0) return fine(subject, `${rules.length} rules send all required events`);
  const names = missing.map(([, detailType]) => `"${detailType}"`).join(', ');
  const fix = `create enabled rules for these events with the queue as target, as in examples/aws`;
  return rules.length === 0
    ? problem(subject, `no rule has the queue as target, so it receives no messages`, fix)
    : warning(subject, `no enabled rule sends ${names}`, fix);
}
