/** Parses CloudFormation templates. */
import { parse, type YAMLSeq } from 'yaml';

/** Short functions keep their argument: the text that `!Sub` formats, or the list of arguments of `!If`. */
const customTags = [
  ...['!Sub', '!Ref', '!GetAtt'].map((tag) => ({ tag, resolve: (text: string) => text })),
  ...['!If', '!Not', '!Equals'].map((tag) => ({
    tag,
    collection: 'seq' as const,
    resolve: (value: unknown) => value as YAMLSeq,
  })),
];

interface TemplateResource {
  readonly Type: string;
  readonly Condition?: string;
  readonly Properties: Readonly<Record<string, unknown>>;
}

interface CloudFormationTemplate {
  readonly Parameters: Readonly<
    Record<string, { readonly Default?: string; readonly AllowedValues?: readonly string[] }>
  >;
  readonly Resources: Readonly<Record<string, TemplateResource>>;
}

export const parseTemplate = (text: string): CloudFormationTemplate =>
  parse(text, { customTags }) as CloudFormationTemplate;

/** Returns the documents of the managed policies by the names of their resources. References stay as `${Name}`. */
export function managedPolicies({ Resources }: CloudFormationTemplate): ReadonlyMap<string, unknown> {
  const policies = Object.entries(Resources).filter(([, { Type }]) => Type === 'AWS::IAM::ManagedPolicy');
  return new Map(policies.map(([name, { Properties }]) => [name, JSON.parse(String(Properties.PolicyDocument))]));
}
