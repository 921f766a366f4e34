/**
 * What the API server does with an object of a CustomResourceDefinition before it stores it: drop unknown fields, fill
 * in defaults, check the schema, the list types and the rules. Works on the schema of any CustomResourceDefinition.
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
  /** Number of rules that are not evaluated because they call functions that are not available here. */
  readonly unknownRules: number;
  /** The object without fields that the schema does not declare, and their paths, such as `spec.bogus`. */
  prune<T>(object: T): { readonly object: T; readonly unknown: string[] };
  /** A copy with defaults filled in and meaningless nulls dropped. */
  applyDefaults<T>(object: T): T;
  /**
   * What a real API server would name as `details.causes` of a 422; empty when the object is sound.
   *
   * @param old the stored object that an update replaces: transition rules compare with it, and faults in parts that
   *   the update leaves as they are do not count
   * @param part `status` for the status subresource, whose messages have paths from there
   * @param known what is wrong with the object's metadata: it may keep rules from being evaluated
   */
  validate(object: unknown, old?: unknown, part?: 'status', known?: readonly Cause[]): Cause[];
}

/**
 * Prepares `spec.versions[].schema.openAPIV3Schema` of a CustomResourceDefinition for use.
 *
 * @param scale `subresources.scale` of the same version, whose replica counts are checked as well
 * @throws {CelError} when one of its rules is not an expression.
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
