/**
 * Finds policies in the output of AWS and its tools: policy documents, responses of the AWS CLI, CloudFormation
 * templates.
 */

import { isAlias, isMap, isScalar, isSeq, type Document as YamlDocument } from 'yaml';
import { isObject } from '../../../lib/json-object.ts';
import { InputError, messageOf } from '../../objects/errors.ts';
import type { SourceDocument } from '../documents.ts';
import { type SourceStatement, statementsIn } from './statements.ts';

const FORMS =
  'expected a policy document with Statement, the output of `aws iam get-policy-version` or `aws iam get-role-policy`, ' +
  'or a CloudFormation template with policies';

/** @throws InputError if the input contains no policy, or a policy that IAM would reject */
export function policyStatements(source: SourceDocument): readonly SourceStatement[] {
  const value = resolveFunctions(plain(source.document));
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
const plain = (document: YamlDocument): unknown => plainNode(document.contents, document);

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
