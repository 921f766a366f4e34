/** Finds statements of a policy that the owner added and that the controller does not need. */
import { ACTIONS_OF_TODAY, oneOrAll } from './policies.ts';
import {
  actionsOf,
  conditionsOf,
  covers,
  coversAction,
  listOf,
  resourcesOf,
  type SourceStatement,
  type Statement,
} from './statements.ts';

/** Actions of older releases, with the reason for their removal. */
export const FORMER_ACTIONS: Readonly<Record<string, string>> = {
  'ec2:DescribeAvailabilityZones': 'zones are read from the subnets',
  'ec2:DescribeLaunchTemplateVersions': 'launch templates are never changed and have one version',
  'ec2:DescribeTags': 'tags are included in each description',
  'ec2:DescribeVpcs': 'the VPC is read from the subnets',
  'ec2:DeleteTags': 'tags of instances are only added',
  'iam:UntagInstanceProfile': 'tags of instance profiles are only added',
  'sqs:GetQueueAttributes': 'the controller only receives and deletes messages',
  'ssm:GetParameters': 'parameters are read one by one, with ssm:GetParameter',
  'ssm:GetParametersByPath': 'parameters are read one by one, with ssm:GetParameter',
  'sts:AssumeRole': 'the controller does not assume a role of another account',
};

export const isOfToday = (action: string): boolean => ACTIONS_OF_TODAY.some((today) => coversAction(action, today));
export const isFormer = (action: string): boolean =>
  Object.keys(FORMER_ACTIONS).some((former) => former.toLowerCase() === action.toLowerCase());
const isKarpenters = (action: string): boolean => isOfToday(action) || isFormer(action);

export interface OwnStatement extends SourceStatement {
  /** Reason for keeping this statement. */
  readonly why: string;
}

/**
 * Returns the part of a statement to keep in addition to the current policies, or undefined if nothing must be kept.
 */
export function ownPart({ statement, where }: SourceStatement): OwnStatement | undefined {
  const kept = (part: Statement, why: string): OwnStatement => ({ statement: part, where, why });
  if (statement.Effect === 'Deny')
    return kept(statement, 'a Deny statement; make sure that it does not deny actions that are allowed above');
  if (statement.NotAction !== undefined)
    return kept(
      statement,
      'a NotAction statement allows all other actions, so the actions for the controller cannot be determined',
    );
  const own = actionsOf(statement).filter((action) => !isKarpenters(action));
  const resources = parametersOfOwn(statement);
  if (own.length === actionsOf(statement).length) return kept(statement, 'Karpenter never used these actions');
  if (own.length > 0) return kept({ ...statement, Action: own }, `Karpenter never used ${own.join(', ')}`);
  if (resources.length === 0) return undefined;
  return kept(
    { ...statement, Action: 'ssm:GetParameter', Resource: oneOrAll(resources) },
    'these parameters are not published by AWS; amiSelectorTerms with ssmParameter may refer to them',
  );
}

const OF_AWS = /:parameter\/aws\/service\//;

/** Returns parameters in the owner's account that contain image IDs. */
function parametersOfOwn(statement: Statement): readonly string[] {
  if (!actionsOf(statement).some((action) => coversAction(action, 'ssm:GetParameter'))) return [];
  return resourcesOf(statement).filter(
    (arn) => arn.includes(':parameter/') && !OF_AWS.test(arn) && !arn.endsWith(':parameter/*'),
  );
}

/** Condition keys that occur in policies of Karpenter. */
const KNOWN_KEYS = [
  'aws:RequestTag/*',
  'aws:ResourceTag/*',
  'ec2:ResourceTag/*',
  'iam:ResourceTag/*',
  'aws:TagKeys',
  'aws:RequestedRegion',
  'ec2:CreateAction',
  'iam:PassedToService',
  'arc-zonal-shift:ResourceIdentifier',
];

/** Returns conditions that the owner added to a statement of Karpenter: `ec2:InstanceType StringLike m5.*`. */
export const ownConditions = (statement: Statement): readonly string[] =>
  conditionsOf(statement).flatMap(([operator, key, values]) =>
    KNOWN_KEYS.some((known) => covers(known, key, false)) ? [] : [`${key} ${operator} ${listOf(values).join(', ')}`],
  );
