/** Parameters of a controller policy: cluster name, region, account, node roles and queues. */
import { actionsOf, conditionsOf, conditionValues, type Statement, statementResources } from './statements.ts';

export interface PolicyParameters {
  readonly clusterName: string;
  readonly region: string;
  readonly accountId: string;
  readonly partition: string;
  /** ARNs of the roles that nodes may use. */
  readonly nodeRoles: readonly string[];
  /** ARNs of the queues for interruption messages. */
  readonly queues: readonly string[];
}

/** Parameters from the command line. They override parameters found in a policy. */
export interface GivenParameters {
  readonly clusterName?: string;
  readonly region?: string;
  readonly accountId?: string;
  readonly partition?: string;
  /** Name or ARN. */
  readonly nodeRole?: string;
  /** Name or ARN. */
  readonly interruptionQueue?: string;
}

/**
 * Records an assumed value.
 *
 * @param flag option that sets the value
 */
type Assume = (name: keyof PolicyParameters, text: string, flag: string) => void;

/** Splits an ARN into its parts. A `${…}` of CloudFormation may stand for any part and may contain colons. */
function arnParts(text: string): readonly string[] | undefined {
  if (!text.startsWith('arn:')) return undefined;
  const parts = [''];
  for (const [piece] of text.matchAll(/\$\{[^}$]*\}|:|[^:$]+|\$/g)) {
    if (piece === ':' && parts.length < 6) parts.push('');
    else parts[parts.length - 1] += piece;
  }
  return parts.length === 6 ? parts : undefined;
}

const isKnown = (text: string | undefined): text is string => text !== undefined && text !== '' && !/[*?]/.test(text);

const distinct = (texts: readonly (string | undefined)[]): readonly string[] => [...new Set(texts.filter(isKnown))];

const CLUSTER_TAG = /^(?:aws:RequestTag|aws:ResourceTag|ec2:ResourceTag)\/kubernetes\.io\/cluster\/(.+)$/;
const TAG = /^(?:aws:RequestTag|aws:ResourceTag|ec2:ResourceTag)\//;

const arnsIn = (statements: readonly Statement[]): readonly (readonly string[])[] =>
  statements.flatMap((statement) => {
    const values = conditionsOf(statement).flatMap(([, , texts]) => texts);
    return [...statementResources(statement), ...values].flatMap((text) => {
      const parts = arnParts(String(text));
      return parts === undefined ? [] : [parts];
    });
  });

function clusterNames(statements: readonly Statement[]): readonly string[] {
  const conditions = statements.flatMap(conditionsOf);
  const tagged = conditions.map(([, key]) => CLUSTER_TAG.exec(key)?.[1]);
  const named = conditions.flatMap(([, key, values]) =>
    key.replace(TAG, '') === 'eks:eks-cluster-name' ? values : [],
  );
  const described = arnsIn(statements).map(([, , service, , , resource = '']) =>
    service === 'eks' ? /^cluster\/(.+)$/.exec(resource)?.[1] : undefined,
  );
  const certain = distinct([...tagged, ...named, ...described]);
  if (certain.length > 0) return certain;
  // value of the discovery tag of old installations, which is usually the cluster name
  return distinct(
    conditions.flatMap(([, key, values]) => (key.replace(TAG, '') === 'karpenter.sh/discovery' ? values : [])),
  );
}

/** Candidates for one parameter, with the placeholder to use if there is no candidate. */
interface Choice {
  readonly name: keyof PolicyParameters;
  readonly given: string | undefined;
  readonly found: readonly string[];
  readonly placeholder: string;
  readonly flag: string;
}

function chooseValue({ name, given, found, placeholder, flag }: Choice, assume: Assume): string {
  if (given !== undefined) return given;
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) {
    if (only === placeholder && only.startsWith('$'))
      assume(name, `${placeholder} is a placeholder for an unknown value`, flag);
    return only;
  }
  const what = only === undefined ? 'does not contain it' : `contains several: ${found.join(', ')}`;
  assume(name, `the policy ${what}; ${placeholder} is a placeholder`, flag);
  return placeholder;
}

/** Returns all roles or queues that the policy allows by name. */
function arnsFor(statements: readonly Statement[], action: string): readonly string[] {
  const allowing = statements.filter(
    (statement) =>
      statement.Effect === 'Allow' && actionsOf(statement).some((each) => each.toLowerCase() === action.toLowerCase()),
  );
  // a name with a wildcard is kept, because it may match roles of several stacks
  const named = allowing.flatMap(statementResources).filter((text) => text !== '*' && !/:(role\/)?\*$/.test(text));
  return [...new Set(named)];
}

const arnOf = (text: string, prefix: string): string => (/^(arn:|\$\{)/.test(text) ? text : `${prefix}${text}`);

/** @param statements current permissions of the controller */
export function policyParameters(
  statements: readonly Statement[],
  given: GivenParameters,
  assume: Assume,
): PolicyParameters {
  const arns = arnsIn(statements);
  const partition = chooseValue(
    { name: 'partition', given: given.partition, found: partitions(arns), placeholder: 'aws', flag: '--partition' },
    assume,
  );
  const clusterName = chooseValue(
    {
      name: 'clusterName',
      given: given.clusterName,
      found: clusterNames(statements),
      placeholder: '$CLUSTER_NAME',
      flag: '--cluster-name',
    },
    assume,
  );
  const regions = [
    ...arns.map(([, , , region]) => region),
    ...statements.flatMap((statement) => conditionValues(statement, 'aws:RequestedRegion')),
  ];
  const region = chooseValue(
    { name: 'region', given: given.region, found: distinct(regions), placeholder: '$AWS_REGION', flag: '--region' },
    assume,
  );
  const accounts = arns.map(([, , , , account]) => account).filter((text) => text !== 'aws');
  const accountId = chooseValue(
    {
      name: 'accountId',
      given: given.accountId,
      found: distinct(accounts),
      placeholder: '$AWS_ACCOUNT_ID',
      flag: '--account-id',
    },
    assume,
  );
  const place = { clusterName, region, accountId, partition };
  return {
    ...place,
    nodeRoles: rolesOf(statements, place, { given, assume }),
    queues: queuesOf(statements, place, { given, assume }),
  };
}

const partitions = (arns: readonly (readonly string[])[]): readonly string[] =>
  distinct(arns.map(([, partition]) => partition));

type Where = Omit<PolicyParameters, 'nodeRoles' | 'queues'>;

interface Asked {
  readonly given: GivenParameters;
  readonly assume: Assume;
}

function rolesOf(statements: readonly Statement[], place: Where, { given, assume }: Asked): readonly string[] {
  const prefix = `arn:${place.partition}:iam::${place.accountId}:role/`;
  if (given.nodeRole !== undefined) return [arnOf(given.nodeRole, prefix)];
  const found = arnsFor(statements, 'iam:PassRole');
  if (found.some((arn) => arn.endsWith('$KARPENTER_NODE_ROLE')))
    assume('nodeRoles', '$KARPENTER_NODE_ROLE is a placeholder for an unknown name', '--node-role');
  if (found.length > 0) return found;
  const any = statements.some((statement) => actionsOf(statement).includes('iam:PassRole'));
  const what = any ? 'allows any role to be passed' : 'contains no node role';
  assume(
    'nodeRoles',
    `the policy ${what}; $KARPENTER_NODE_ROLE is a placeholder for the role of your nodes`,
    '--node-role',
  );
  return [`${prefix}$KARPENTER_NODE_ROLE`];
}

function queuesOf(statements: readonly Statement[], place: Where, { given, assume }: Asked): readonly string[] {
  const prefix = `arn:${place.partition}:sqs:${place.region}:${place.accountId}:`;
  if (given.interruptionQueue !== undefined) return [arnOf(given.interruptionQueue, prefix)];
  const found = arnsFor(statements, 'sqs:ReceiveMessage');
  if (found.length > 0) return found;
  assume(
    'queues',
    'the policy contains no interruption queue; the name of the cluster is used, as in examples/aws',
    '--interruption-queue',
  );
  return [`${prefix}${place.clusterName}`];
}
