/** Command `karpenter convert iam`. Converts the controller's policies of older releases to current policies. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { isAlias, isMap, isScalar, isSeq, type Document as YamlDocument } from 'yaml';
import { isObject } from '#lib';
import { type Example, withExamples } from '../describe.ts';
import { InputError, messageOf } from '../objects/errors.ts';
import { indented, terminalWidth } from '../render/wrap.ts';
import { readFiles, type SourceDocument } from './documents.ts';
import { type Difference, type DifferenceKind, type OwnStatement, ownPart, policyDifferences } from './iam/compare.ts';
import { type GivenParameters, type PolicyParameters, policyParameters } from './iam/parameters.ts';
import { type NamedPolicy, policiesFor } from './iam/policies.ts';
import { actionsOf, coversAction, type SourceStatement, statementsIn } from './iam/statements.ts';
import { Notes } from './notes.ts';
import { type InputFlags, printErrors, printNotes, withInput } from './output.ts';
import { eachDocument, onFiles } from './run.ts';

interface Flags extends InputFlags, GivenParameters {
  /** Output folder. */
  readonly output?: string;
  readonly single?: boolean;
  readonly diff?: boolean;
}

const TITLES: readonly (readonly [DifferenceKind, string])[] = [
  ['added', 'ADDED'],
  ['narrower', 'NARROWER'],
  ['other', 'ON SOMETHING ELSE'],
  ['gone', 'GONE'],
  ['same', 'UNCHANGED'],
];

/** Renders the differences as text, grouped by kind under headings. */
function differencesText(differences: readonly Difference[], width = terminalWidth()): string {
  const sections = TITLES.flatMap(([kind, title]) => {
    const own = differences.filter((each) => each.kind === kind);
    if (own.length === 0) return [];
    return [[title, ...own.map((each) => `  ${indented(lineOf(each), '    ', width)}`)].join('\n')];
  });
  return `${sections.join('\n\n')}\n`;
}

const lineOf = ({ kind, statement, actions, text, reason }: Difference): string =>
  [`${statement}: ${actions.join(', ')}`, text, kind === 'same' ? '' : reason].filter((part) => part !== '').join('; ');

/** Renders all policies as one JSON object by name, or all statements as one policy. */
function policiesText(policies: readonly NamedPolicy[], isSingle: boolean): string {
  const single = { Version: '2012-10-17', Statement: policies.flatMap(({ document }) => document.Statement) };
  const all = Object.fromEntries(policies.map(({ name, document }) => [name, document]));
  return `${JSON.stringify(isSingle ? single : all, null, 2)}\n`;
}

/** Returns a file name without the `$` of placeholders. */

function writePolicies(folder: string, policies: readonly NamedPolicy[]): void {
  try {
    mkdirSync(folder, { recursive: true });
    for (const { name, document } of policies)
      writeFileSync(join(folder, `${name.replace(/[^\w.-]/g, '')}.json`), `${JSON.stringify(document, null, 2)}\n`);
  } catch (error) {
    throw new InputError(folder, `cannot be written: ${messageOf(error)}`, { cause: error });
  }
}

function run(flags: Flags): void {
  const read = readFiles(flags.filename, flags);
  const statements: SourceStatement[] = [];
  const wrong = eachDocument(read, (source) => {
    statements.push(...policyStatements(source));
  });
  printErrors(wrong);
  if (statements.length === 0) return;
  const notes = new Notes();
  const where = read.files.map(({ name }) => name).join(', ');
  const { policies, differences } = convertPolicies(statements, flags, { notes, where });
  const report = differencesText(differences, terminalWidth(flags.diff ? process.stdout : process.stderr));
  if (flags.diff) process.stdout.write(report);
  else if (flags.output === undefined) process.stdout.write(policiesText(policies, flags.single === true));
  else writePolicies(flags.output, policies);
  if (!flags.diff) process.stderr.write(`${report}\n`);
  printNotes(notes);
}

const EXAMPLES: readonly Example[] = [
  {
    what: 'Write one file for each policy',
    command: 'aws iam get-policy-version --policy-arn "$ARN" --version-id v3 | karpenter convert iam -f - -o policies/',
  },
  { what: 'Show the differences and reasons', command: 'karpenter convert iam -f policy.json --diff' },
  {
    what: 'Set values that the policy does not contain',
    command:
      'karpenter convert iam -f policy.json --cluster-name mine --node-role KarpenterNodeRole-mine > policies.json',
  },
];

export function iamCommand(): Command {
  const command = new Command('iam').description(
    "Convert the controller's IAM policies of older releases to the current policies, and show the differences and reasons",
  );
  withInput(command, 'policies: documents, output of `aws iam`, or CloudFormation templates')
    .option(
      '-o, --output <folder>',
      'write one file for each policy into this folder, instead of all policies to standard output',
    )
    .addOption(
      new Option('--single', 'write one document with all statements, for an inline policy of a role').conflicts(
        'output',
      ),
    )
    .addOption(new Option('--diff', 'print the differences and no policies').conflicts(['output', 'single']))
    .option('--cluster-name <name>', 'name of the cluster, if the policy does not contain it')
    .option('--region <region>', 'region of the cluster')
    .option('--account-id <id>', 'account of the cluster')
    .option('--partition <partition>', 'partition of the region, for example aws-cn')
    .option('--node-role <name>', 'name or ARN of the role of the nodes')
    .option('--interruption-queue <name>', 'name or ARN of the interruption queue');
  withExamples(command, EXAMPLES);
  return onFiles<Flags>(command, run);
}

/** Converts the controller's policies of any release to the current policies. */
interface ConvertedPolicies {
  readonly policies: readonly NamedPolicy[];
  readonly differences: readonly Difference[];
}

/** Maximum length of a managed policy in IAM, in characters without white space. */
const MOST_CHARACTERS = 6144;

/** @param where place in notes that concern all policies */
function convertPolicies(
  old: readonly SourceStatement[],
  given: GivenParameters,
  { notes, where }: { readonly notes: Notes; readonly where: string },
): ConvertedPolicies {
  const note = notes.on(where);
  const parameters = policyParameters(
    old.map(({ statement }) => statement),
    given,
    (name, text, flag) => note('assumed', [name], `${text}; set it with ${flag}`),
  );
  const own = old.flatMap((source) => ownPart(source) ?? []);
  for (const { where: place, why } of own) notes.on(place)('changed', [], `kept unchanged: ${why}`);
  const policies = [...policiesFor(parameters), ...ownPolicy(own, parameters)];
  for (const { name, document } of policies) {
    const size = JSON.stringify(document).length;
    if (size > MOST_CHARACTERS)
      note('lost', [name], `has ${size} characters, but IAM allows ${MOST_CHARACTERS} in a managed policy; split it`);
  }
  const isKept = (action: string): boolean =>
    own.some(({ statement }) => actionsOf(statement).some((pattern) => coversAction(pattern, action)));
  return { policies, differences: policyDifferences(old, policies.slice(0, own.length > 0 ? -1 : undefined), isKept) };
}

/**
 * Returns a separate policy for statements of the owner, so that the remaining policies can be compared with the next
 * release.
 */
function ownPolicy(own: readonly OwnStatement[], { clusterName }: PolicyParameters): readonly NamedPolicy[] {
  if (own.length === 0) return [];
  const Statement = own.map(({ statement }) => statement);
  return [{ name: `KarpenterControllerOwnPolicy-${clusterName}`, document: { Version: '2012-10-17', Statement } }];
}

/**
 * Finds policies in the output of AWS and its tools: policy documents, responses of the AWS CLI, CloudFormation
 * templates.
 */
const FORMS =
  'expected a policy document with Statement, the output of `aws iam get-policy-version` or `aws iam get-role-policy`, ' +
  'or a CloudFormation template with policies';

/** @throws InputError if the input contains no policy, or a policy that IAM would reject */
function policyStatements(source: SourceDocument): readonly SourceStatement[] {
  const value = resolveFunctions(plainNode(source.document.contents, source.document));
  const found = documentsIn(value, source.where);
  if (found.length === 0) throw new InputError(source.where, FORMS);
  return found.flatMap(({ document, where }) => statementsIn(parseText(document, where), where));
}

interface Found {
  readonly document: unknown;
  readonly where: string;
}

function documentsIn(value: unknown, where: string): readonly Found[] {
  if (!isObject(value)) return [];
  if ('Statement' in value) return [{ document: value, where }];
  const { PolicyVersion, PolicyDocument, Resources } = value;
  if (isObject(PolicyVersion) && 'Document' in PolicyVersion)
    return [{ document: PolicyVersion.Document, where: `${where}, PolicyVersion.Document` }];
  if (PolicyDocument !== undefined) return [{ document: PolicyDocument, where: `${where}, PolicyDocument` }];
  if (isObject(Resources))
    return Object.entries(Resources).flatMap(([name, one]) => inResource(one, `${where}, ${name}`));
  // output of this command, which contains documents by name
  return Object.entries(value).flatMap(([name, one]) =>
    isObject(one) && 'Statement' in one ? [{ document: one, where: `${where}, ${name}` }] : [],
  );
}

const POLICY_TYPES = new Set(['AWS::IAM::ManagedPolicy', 'AWS::IAM::Policy', 'AWS::IAM::RolePolicy']);

function inResource(resource: unknown, where: string): readonly Found[] {
  if (!isObject(resource) || !isObject(resource.Properties)) return [];
  const { Type, Properties } = resource;
  if (POLICY_TYPES.has(String(Type))) return [{ document: Properties.PolicyDocument, where }];
  if (Type !== 'AWS::IAM::Role' || !Array.isArray(Properties.Policies)) return [];
  return Properties.Policies.map((policy: unknown, index) => ({
    document: isObject(policy) ? policy.PolicyDocument : undefined,
    where: `${where}, Policies[${index}]`,
  }));
}

/** Parses a document. Templates and API responses contain it as text, and API responses also URL-encode it. */
function parseText(document: unknown, where: string): unknown {
  if (typeof document !== 'string') return document;
  try {
    return JSON.parse(document.trimStart().startsWith('%') ? decodeURIComponent(document) : document) as unknown;
  } catch (error) {
    throw new InputError(where, `the policy is not valid JSON: ${messageOf(error)}`, { cause: error });
  }
}

/** Converts a document to plain data. Converts short-form CloudFormation functions to `${…}` in text. */
function plainNode(node: unknown, document: YamlDocument): unknown {
  if (isAlias(node)) return plainNode(node.resolve(document), document);
  if (isMap(node))
    return Object.fromEntries(
      node.items.map(({ key, value }) => [String(plainNode(key, document)), plainNode(value, document)]),
    );
  if (isSeq(node)) {
    const items = node.items.map((item) => plainNode(item, document));
    return node.tag === '!Sub' ? items[0] : node.tag === '!GetAtt' ? `\${${items.join('.')}}` : items;
  }
  if (!isScalar(node)) return node;
  return node.tag === '!Ref' || node.tag === '!GetAtt' ? `\${${String(node.value)}}` : node.value;
}

/** Resolves long-form CloudFormation functions. */
function resolveFunctions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(resolveFunctions);
  if (!isObject(value)) return value;
  const [[name, of] = [], ...more] = Object.entries(value);
  if (name !== undefined && more.length === 0) {
    if (name === 'Ref') return `\${${String(of)}}`;
    if (name === 'Fn::GetAtt') return `\${${[of].flat().join('.')}}`;
    if (name === 'Fn::Sub') return Array.isArray(of) ? of[0] : of;
    if (name === 'Fn::Join' && Array.isArray(of) && Array.isArray(of[1]))
      return of[1].map(resolveFunctions).join(String(of[0]));
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolveFunctions(each)]));
}
