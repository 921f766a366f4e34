/** Reads the resources of examples/aws/cloudformation.yaml, and the policies of the controller. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { managedPolicies, parseTemplate } from '../../../scripts/cloudformation.ts';

export const TEMPLATE = readFileSync(join(import.meta.dirname, '../../../examples/aws/cloudformation.yaml'), 'utf8');

interface Statement {
  readonly Sid: string;
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
}

export const templateResources = (): ReturnType<typeof parseTemplate>['Resources'] => parseTemplate(TEMPLATE).Resources;

/** Names of the parameters of a CloudFormation template. */
export const templateParameters = (template: string): readonly string[] =>
  Object.keys(parseTemplate(template).Parameters);

export const policyStatements = (): readonly Statement[] =>
  [...managedPolicies(parseTemplate(TEMPLATE)).values()].flatMap(
    (document) => (document as { readonly Statement: readonly Statement[] }).Statement,
  );

/** Every `service:Action` that the controller may use. */
export function allowedActions(): ReadonlySet<string> {
  return new Set(policyStatements().flatMap(({ Action }) => Action));
}
