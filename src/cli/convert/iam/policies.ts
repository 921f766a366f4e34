/** Current controller policies for one cluster. */
import type { PolicyParameters } from './parameters.ts';
import { POLICIES } from './policies-text.ts';
import type { PolicyDocument, Statement } from './statements.ts';

export interface NamedPolicy {
  readonly name: string;
  readonly document: PolicyDocument;
}

const TEMPLATES = JSON.parse(POLICIES) as Readonly<Record<string, PolicyDocument>>;

/** All actions that the controller may use, in no particular order. */
export const ACTIONS_OF_TODAY: readonly string[] = [
  ...new Set(
    Object.values(TEMPLATES).flatMap(({ Statement: all }) => all.flatMap(({ Action = [] }) => [Action].flat())),
  ),
];

/** Reference in the template, to a parameter or to the ARN of a resource. */
const REFERENCE = /\$\{([\w.:]+)\}/g;

export function policiesFor(parameters: PolicyParameters): readonly NamedPolicy[] {
  const texts: Readonly<Record<string, string>> = {
    ClusterName: parameters.clusterName,
    'AWS::Region': parameters.region,
    'AWS::AccountId': parameters.accountId,
    'AWS::Partition': parameters.partition,
  };
  const filled = (text: string): string => text.replace(REFERENCE, (whole, name: string) => texts[name] ?? whole);
  return Object.entries(TEMPLATES).map(([name, { Version, Statement }]) => ({
    name: `${name}-${parameters.clusterName}`,
    document: { Version, Statement: Statement.map((one) => filledStatement(one, filled, parameters)) },
  }));
}

function filledStatement(
  statement: Statement,
  filled: (text: string) => string,
  parameters: PolicyParameters,
): Statement {
  // parameters that may have several values
  const arns = new Map([
    ['KarpenterNodeRole.Arn', parameters.nodeRoles],
    ['KarpenterInterruptionQueue.Arn', parameters.queues],
  ]);
  const deep = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const found = arns.get(value.replace(REFERENCE, '$1'));
      return found === undefined ? filled(value) : oneOrAll(found);
    }
    if (Array.isArray(value)) return value.map(deep);
    return Object.fromEntries(Object.entries(value as object).map(([key, each]) => [filled(key), deep(each)]));
  };
  return deep(statement) as Statement;
}

/** Returns one value or a list of values, in the form that IAM's own tools write. */
export const oneOrAll = (texts: readonly string[]): string | readonly string[] =>
  texts.length === 1 && texts[0] !== undefined ? texts[0] : texts;
