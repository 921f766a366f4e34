/**
 * Processes objects of any CustomResourceDefinition as the API server does before it stores them: removes unknown fields, adds
 * defaults, and checks the schema, list types and rules.
 */

import { isObject } from '../../lib/json-object.ts';
import { blocksRules, type Cause, RULES_NOT_CHECKED } from './cause.ts';
import { checkSchema } from './check.ts';
import { withDefaults } from './defaults.ts';
import { duplicates } from './listtypes.ts';
import type { OpenApiSchema } from './openapi.ts';
import { prune } from './prune.ts';
import { brokenRules, compileRules } from './rules.ts';
import { type ScalePaths, scaleFaults } from './scale.ts';

export type { Cause } from './cause.ts';

export interface StructuralSchema {
  /** Number of rules that are not evaluated because they call unsupported functions. */
  readonly unknownRules: number;
  /** Returns the object without undeclared fields, and the paths of these fields, such as `spec.bogus`. */
  prune<T>(object: T): { readonly object: T; readonly unknown: string[] };
  /** Returns a copy with defaults and without nulls that have no meaning. */
  applyDefaults<T>(object: T): T;
  /**
   * Returns `details.causes` of the 422 response of an API server. The list is empty if the object is valid.
   *
   * @param old the stored object that an update replaces. Transition rules compare with it, and errors in unchanged parts are
   *   ignored
   * @param part `status` for the status subresource, whose messages have paths relative to it
   * @param known errors of the object's metadata, which may prevent the evaluation of rules
   */
  validate(object: unknown, old?: unknown, part?: 'status', known?: readonly Cause[]): Cause[];
}

/**
 * Prepares `spec.versions[].schema.openAPIV3Schema` of a CustomResourceDefinition for use.
 *
 * @param scale `subresources.scale` of the same version, whose replica counts are checked
 * @throws {CelError} if a rule is not an expression.
 */
export function structuralSchema(openAPIV3Schema: unknown, scale?: ScalePaths): StructuralSchema {
  const schema = openAPIV3Schema as OpenApiSchema;
  return {
    unknownRules: compileRules(schema),
    prune: <T>(object: T) => prune(schema, object) as { object: T; unknown: string[] },
    applyDefaults: <T>(object: T) => withDefaults(schema, object) as T,
    validate: (object, old, part, known = []) => {
      const structural = [
        ...structuralFaults(schema, object, old, part),
        ...(scale ? scaleFaults(scale, object, part) : []),
        ...duplicates(schema, object, old),
      ];
      if ([...known, ...structural].some(blocksRules)) return [...structural, RULES_NOT_CHECKED];
      return [...structural, ...brokenRules(schema, object, old)];
    },
  };
}

function structuralFaults(schema: OpenApiSchema, object: unknown, old: unknown, part: 'status' | undefined): Cause[] {
  if (part === undefined) return checkSchema(schema, object, old);
  const inner = schema.properties?.[part];
  const value = isObject(object) ? object[part] : undefined;
  if (!inner || value === undefined) return [];
  return checkSchema(inner, value, isObject(old) ? old[part] : undefined, part);
}
