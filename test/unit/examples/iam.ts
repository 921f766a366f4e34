/** Reads the controller's policies out of examples/aws/cloudformation.yaml. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const TEMPLATE = join(import.meta.dirname, '../../../examples/aws/cloudformation.yaml');

interface Statement {
  readonly Sid: string;
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
}

interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
}

/** CloudFormation's short functions are kept as the text that they work on. */
const customTags = ['!Sub', '!Ref', '!GetAtt'].map((tag) => ({ tag, resolve: (text: string) => text }));

export function templateResources(): Readonly<Record<string, Resource>> {
  return (parse(readFileSync(TEMPLATE, 'utf8'), { customTags }) as { Resources: Record<string, Resource> }).Resources;
}

/** Names of the parameters of a CloudFormation template. */
export const templateParameters = (template: string): readonly string[] =>
  Object.keys((parse(template, { customTags }) as { Parameters: object }).Parameters);

export function policyStatements(): readonly Statement[] {
  return Object.values(templateResources())
    .filter(({ Type }) => Type === 'AWS::IAM::ManagedPolicy')
    .flatMap(
      ({ Properties }) => (JSON.parse(String(Properties.PolicyDocument)) as { Statement: Statement[] }).Statement,
    );
}

/** Every `service:Action` that the controller may use. */
export function allowedActions(): ReadonlySet<string> {
  return new Set(policyStatements().flatMap(({ Action }) => Action));
}
