/** Checks if EventBridge rules send every event type that the operator handles to the interruption queue. */
import type { Clients } from '../clients.ts';
import { describeError } from '../errors.ts';
import { signedRequest } from '../signed.ts';
import { type Finding, fine, problem, unknownFinding, warning } from './finding.ts';

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

export async function eventRules(clients: Clients, queueName: string, queueArn: string): Promise<Finding> {
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
