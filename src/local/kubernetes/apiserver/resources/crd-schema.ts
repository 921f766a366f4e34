/** Compiled schema of one version of a custom resource. */

import { structuralSchema } from '#api/schema';
import { put } from '#lib';
import { isRecord, type Json } from '../json.ts';
import type { StatusCause } from '../status.ts';
import { type ResourceShape, schemaShape } from './shape.ts';

export interface CrdSchema {
  /** Number of rules that are not evaluated. */
  readonly unknownRules: number;
  /** The schema in the CustomResourceDefinition. */
  readonly openapi: Json;
  readonly shape: ResourceShape;
  /** Drops unknown fields and returns their paths. */
  prune(object: Json): { readonly object: Json; readonly unknown: readonly string[] };
  applyDefaults(object: Json): Json;
  /**
   * @param old the object that is replaced, for transition rules
   * @param part `status` if only the status is written
   */
  validate(object: Json, old?: Json, part?: 'status', known?: readonly StatusCause[]): readonly StatusCause[];
}

const META = 'metadata';

/** Divides an object into the fields that pass the test and the remaining fields, which include metadata. */
function divideFields(object: Json, passes: (part: unknown) => boolean): readonly [Json, Json] {
  const [kept, others]: [Json, Json] = [{}, {}];
  for (const [name, part] of Object.entries(object)) put(name !== META && passes(part) ? kept : others, name, part);
  return [kept, others];
}

/** Returns the fields in the order of another object, with additional fields at the end. */
function inOrder(like: Json, fields: Json): Json {
  const ordered: Json = {};
  for (const name of Object.keys(like)) if (Object.hasOwn(fields, name)) put(ordered, name, fields[name]);
  for (const [name, part] of Object.entries(fields)) if (!Object.hasOwn(ordered, name)) put(ordered, name, part);
  return ordered;
}

/** Compiles `spec.versions[].schema.openAPIV3Schema`, with `subresources.scale` of the same version. */
export function crdSchema(
  openapi: Json,
  scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string },
): CrdSchema {
  const structural = structuralSchema(openapi, scale);
  /**
   * Parts of objects that are already pruned and have defaults. Writes of the status share such parts with the stored
   * object.
   */
  const sound = new WeakSet<object>();
  const isSound = (part: unknown): boolean => typeof part === 'object' && part !== null && sound.has(part);
  return {
    openapi,
    unknownRules: structural.unknownRules,
    shape: schemaShape(openapi),
    prune(object) {
      const [kept, others] = divideFields(object, isSound);
      const pruned = structural.prune(others);
      return { object: inOrder(object, { ...pruned.object, ...kept }), unknown: pruned.unknown };
    },
    applyDefaults(object) {
      const [kept, others] = divideFields(object, isSound);
      const filled = structural.applyDefaults(others);
      for (const part of Object.values(filled)) if (isRecord(part)) sound.add(part);
      return inOrder(object, { ...filled, ...kept });
    },
    validate: structural.validate,
  };
}
