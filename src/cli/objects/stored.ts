/** Validates and defaults custom resources of manifests in the same way as the API server. */

import type { KubeObject } from '#api/objects';
import {
  type Cause,
  customResourceDefinition,
  exampleOf,
  RULES_NOT_CHECKED,
  type StructuralSchema,
  structuralSchema,
} from '#api/schema';
import { quoted } from '#lib';
import { InputError } from './errors.ts';
import type { Manifest } from './read.ts';

interface Rules {
  /** Served versions, the stored version first, for example `karpenter.sh/v1`. */
  readonly apiVersions: readonly string[];
  readonly schema: StructuralSchema;
}

const rules = new Map<string, Rules>();

/** Returns the rules of a kind's CustomResourceDefinition. */
function rulesOf(kind: string): Rules | undefined {
  const known = rules.get(kind);
  if (known !== undefined) return known;
  const definition = customResourceDefinition(kind);
  const version = definition?.spec.versions[0];
  if (definition === undefined || version === undefined) return undefined;
  const read = {
    apiVersions: definition.spec.versions.map(({ name }) => `${definition.spec.group}/${name}`),
    schema: structuralSchema(version.schema.openAPIV3Schema),
  };
  rules.set(kind, read);
  return read;
}

/** Errors by field that would make the API server reject an object, and unknown fields that it would drop. */
export interface Review {
  readonly causes: readonly { readonly field: string; readonly message: string }[];
  readonly unknown: readonly string[];
}

/** Reviews a custom resource as the API server would on creation. Ignores the status. */
export function reviewOf(object: KubeObject): Review {
  const schema = rulesOf(object.kind)?.schema;
  if (schema === undefined) return { causes: [], unknown: [] };
  const { unknown } = schema.prune(object);
  return { causes: rejections(schema, schema.applyDefaults(object)), unknown };
}

/** Text before the regular expression in a message of the API server, which ends with a quote. */
const MUST_MATCH = " in body should match '";

/** Replaces the regular expression in a message of the API server by a value that matches it. */
function withExample(message: string): string {
  const at = message.indexOf(MUST_MATCH);
  const example = at === -1 ? undefined : exampleOf(message.slice(at + MUST_MATCH.length, -1));
  return example === undefined ? message : `${message.slice(0, at)} must be a value such as ${quoted(example)}`;
}

/** Returns validation errors. Ignores the status, because controllers write it. */
const rejections = (schema: StructuralSchema, object: KubeObject): readonly Cause[] =>
  schema
    .validate(object)
    .filter((cause) => cause !== RULES_NOT_CHECKED && !cause.field.startsWith('status'))
    .map((cause) => ({ ...cause, message: withExample(cause.message) }));

/**
 * Returns the object with its defaults.
 *
 * @throws InputError with all reasons for which the API server would reject the object
 */
export function validateStored<T extends KubeObject>({ object, where }: Manifest): T {
  const found = rulesOf(object.kind);
  if (found === undefined) return object as T;
  const { apiVersions, schema } = found;
  if (!apiVersions.includes(object.apiVersion))
    throw new InputError(
      where,
      `apiVersion: ${object.apiVersion} is not served; use ${apiVersions[0]} for ${object.kind}s`,
    );
  const result = schema.applyDefaults(object);
  const causes = rejections(schema, result);
  if (causes.length === 0) return result as T;
  const unknown = schema.prune(object).unknown.map((field) => ({ field, message: 'unknown field' }));
  throw new InputError(where, [...unknown, ...causes].map(({ field, message }) => `${field}: ${message}`).join('; '));
}

/** Returns notes on unknown fields, which are often misspelled and which the API server drops. */
export const unknownManifestFields = (manifests: readonly Manifest[]): readonly string[] =>
  manifests.flatMap(({ object, where }) => {
    const unknown = rulesOf(object.kind)?.schema.prune(object).unknown ?? [];
    return unknown.map((field) => `${where}: ${field}: unknown field is ignored`);
  });
