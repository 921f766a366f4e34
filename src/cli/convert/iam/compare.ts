/** Compares old policies with current policies, statement by statement, and explains the differences. */
import { quoted } from '#lib';
import { ACTIONS_OF_TODAY, type NamedPolicy, oneOrAll } from './policies.ts';
import {
  actionsOf,
  conditionsOf,
  covers,
  coversAction,
  listOf,
  type SourceStatement,
  type Statement,
  sameScope,
  statementResources,
} from './statements.ts';

const BY_TAGS = 'the controller can change only objects with the tags of its cluster and of a NodePool';

/** Explanations of the current policy statements, by Sid. */
const REASONS: Readonly<Record<string, string>> = {
  AllowScopedEC2InstanceAccessActions:
    'launches refer to images, subnets, security groups, reservations and placement groups that the controller does not own; ' +
    'capacity reservations since 1.6, placement groups since 1.11',
  AllowScopedEC2LaunchTemplateAccessActions: `${BY_TAGS}; karpenter.sh/nodepool replaced karpenter.sh/provisioner-name in 0.32`,
  AllowScopedEC2InstanceActionsWithTags:
    'all objects are created with tags; spot requests since 0.33, eks:eks-cluster-name since 1.0',
  AllowScopedResourceCreationTagging: 'tags can be set only when an object is created; spot requests since 0.33',
  AllowScopedResourceTagging: 'the tags karpenter.sh/nodeclaim and Name are set when a node has registered; since 0.32',
  AllowScopedDeletion: BY_TAGS,
  AllowPassingInstanceRole: 'only the node role can be passed to instances',
  AllowScopedInstanceProfileCreationActions:
    'EC2NodeClasses have a role, and the controller creates its instance profile; since 0.32',
  AllowScopedInstanceProfileTagActions: 'instance profiles are found by their tags; since 0.32',
  AllowScopedInstanceProfileActions: 'the controller changes only instance profiles that it created; since 0.32',
  AllowAPIServerEndpointDiscovery: 'the endpoint and the version of this cluster are read',
  AllowInterruptionQueueActions: 'interruption messages are read from this queue',
  AllowZonalShiftStatusReadOnly:
    'with settings.enableZonalShift, no nodes are launched in a zone during a zonal shift; since 1.12',
  AllowRegionalReadActions:
    'reads in this region; capacity reservations since 1.6, placement groups since 1.11, instance status since 1.12',
  AllowSSMReadActions: 'AWS publishes its images as parameters',
  AllowPricingReadActions: 'on-demand prices are read',
  AllowUnscopedInstanceProfileListAction: 'unused instance profiles are deleted; since 1.7',
  AllowInstanceProfileReadActions: 'instance profiles of the controller are read; since 0.32',
};

/**
 * Kind of a difference. `added`: newly allowed. `gone`: no longer allowed. `narrower`: allowed for fewer resources.
 * `other`: allowed for different resources.
 */
export type DifferenceKind = 'same' | 'added' | 'gone' | 'narrower' | 'other';

export interface Difference {
  readonly kind: DifferenceKind;
  /** Current statement, or the place of the old statement in the input. */
  readonly statement: string;
  readonly actions: readonly string[];
  /** Description of this difference. Used for narrower statements. */
  readonly text: string;
  readonly reason: string;
}

/** Returns the old statements that allow an action. */
const allowing = (old: readonly SourceStatement[], action: string): readonly SourceStatement[] =>
  old.filter(
    ({ statement }) =>
      statement.Effect === 'Allow' && actionsOf(statement).some((pattern) => coversAction(pattern, action)),
  );

/** @param kept returns true if a statement of the owner still allows an old action */
export function policyDifferences(
  old: readonly SourceStatement[],
  policies: readonly NamedPolicy[],
  kept: (action: string) => boolean,
): readonly Difference[] {
  const statements = policies.flatMap(({ document }) => document.Statement);
  return [
    ...statements.flatMap((statement) => ofStatement(statement, old)),
    ...old.flatMap((source) => goneFrom(source, statements, kept)),
  ];
}

function ofStatement(statement: Statement, old: readonly SourceStatement[]): readonly Difference[] {
  const groups = Map.groupBy(actionsOf(statement), (action) => {
    const { kind, text } = changeOf(statement, allowing(old, action));
    return JSON.stringify([kind, text]);
  });
  const reason = REASONS[statement.Sid ?? ''] ?? '';
  return [...groups].map(([key, actions]) => {
    const [kind, text] = JSON.parse(key) as [DifferenceKind, string];
    return { kind, statement: statement.Sid ?? '', actions, text, reason };
  });
}

function changeOf(
  statement: Statement,
  before: readonly SourceStatement[],
): { readonly kind: DifferenceKind; readonly text: string } {
  if (before.length === 0) return { kind: 'added', text: scopeText(statement) };
  if (before.some((each) => sameScope(each.statement, statement))) return { kind: 'same', text: '' };
  const wider = before.find((each) => isWider(each.statement, statement));
  const text = `${scopeText(statement)}; before: ${scopeText((wider ?? before[0])?.statement ?? statement)}`;
  return { kind: wider === undefined ? 'other' : 'narrower', text };
}

/** Returns true if a statement allows everything that another statement allows. */
function isWider(wide: Statement, narrow: Statement): boolean {
  const isCovered = (arn: string): boolean => statementResources(wide).some((pattern) => covers(pattern, arn));
  const conditions = conditionsOf(narrow);
  return (
    statementResources(narrow).every(isCovered) &&
    conditionsOf(wide).every(([, key, values]) =>
      conditions.some(
        ([, other, texts]) =>
          other.toLowerCase() === key.toLowerCase() &&
          texts.every((text) => values.some((value) => covers(value, text))),
      ),
    )
  );
}

/** Describes the scope of a statement: `on security-group/*, subnet/* where aws:RequestTag/a is owned`. */
function scopeText(statement: Statement): string {
  const resources = statementResources(statement).map(shortArn).join(', ');
  const conditions = conditionsOf(statement).map(([, key, values]) => `${key} is ${values.join(' or ')}`);
  return `on ${resources}${conditions.length === 0 ? '' : ` where ${conditions.join(', ')}`}`;
}

/** Removes region and account from an ARN, because they are the same in all ARNs. */
const shortArn = (arn: string): string => (arn.startsWith('arn:') ? arn.slice(arn.lastIndexOf(':') + 1) : arn);

function goneFrom(
  { statement, where }: SourceStatement,
  today: readonly Statement[],
  kept: (action: string) => boolean,
): readonly Difference[] {
  if (statement.Effect === 'Deny') return [];
  const gone = actionsOf(statement).filter((action) => isFormer(action) && !kept(action));
  const wild = actionsOf(statement).filter((action) => /[*?]/.test(action) && isOfToday(action));
  const conditions = isTaken(statement, today) ? [] : ownConditions(statement);
  return [
    ...gone.map((action) => ({
      kind: 'gone' as const,
      statement: where,
      actions: [action],
      text: '',
      reason: reasonFor(action),
    })),
    ...wild.map((action) => ({
      kind: 'gone' as const,
      statement: where,
      actions: [action],
      text: 'all actions that it covers and that are not listed above',
      reason: 'the controller needs only the listed actions',
    })),
    ...conditions.map((condition) => ({
      kind: 'gone' as const,
      statement: where,
      actions: actionsOf(statement),
      text: `your condition ${quoted(condition)}`,
      reason: 'Karpenter does not use this condition; to keep it, add it to the statements with these actions',
    })),
  ];
}

const isTaken = (statement: Statement, today: readonly Statement[]): boolean =>
  !actionsOf(statement).some(isOfToday) || today.some((one) => sameScope(one, statement));

const reasonFor = (action: string): string =>
  Object.entries(FORMER_ACTIONS).find(([former]) => former.toLowerCase() === action.toLowerCase())?.[1] ?? '';

/** Actions of older releases, with the reason for their removal. */
const FORMER_ACTIONS: Readonly<Record<string, string>> = {
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

const isOfToday = (action: string): boolean => ACTIONS_OF_TODAY.some((today) => coversAction(action, today));
const isFormer = (action: string): boolean =>
  Object.keys(FORMER_ACTIONS).some((former) => former.toLowerCase() === action.toLowerCase());

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
  const own = actionsOf(statement).filter((action) => !isOfToday(action) && !isFormer(action));
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
  return statementResources(statement).filter(
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
const ownConditions = (statement: Statement): readonly string[] =>
  conditionsOf(statement).flatMap(([operator, key, values]) =>
    KNOWN_KEYS.some((known) => covers(known, key, false)) ? [] : [`${key} ${operator} ${listOf(values).join(', ')}`],
  );
