/** The schema of one version of a custom resource, ready for use on objects. */

import { structuralSchema } from '../../../../api/schema/structural.ts';
import { put } from '../../../../lib/own.ts';
import { isRecord, type Json } from '../json.ts';
import type { Cause } from '../status.ts';
import { type Shape, schemaShape } from './shape.ts';

export interface CrdSchema {
  /** Number of rules that are not evaluated. */
  readonly unknownRules: number;
  /** As the CustomResourceDefinition has it. */
  readonly openapi: Json;
  readonly shape: Shape;
  /** Drops unknown fields, and says which. */
  prune(object: Json): { readonly object: Json; readonly unknown: readonly string[] };
  applyDefaults(object: Json): Json;
  /**
   * @param old the object that is being replaced, for transition rules
   * @param part `status` when only that is written
   */
  validate(object: Json, old?: Json, part?: 'status', known?: readonly Cause[]): readonly Cause[];
}

const META = 'metadata';

/** The fields that pass, and the others; metadata is never among those. */
function divided(object: Json, passes: (part: unknown) => boolean): readonly [Json, Json] {
  const [kept, others]: [Json, Json] = [{}, {}];
  for (const [name, part] of Object.entries(object)) put(name !== META && passes(part) ? kept : others, name, part);
  return [kept, others];
}

/** The fields in the order of another object that has most of them. */
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
  /** Parts of objects that are as this schema wants them. Writes of the status share the others with the stored object. */
  const sound = new WeakSet<object>();
  const isSound = (part: unknown): boolean => typeof part === 'object' && part !== null && sound.has(part);
  return {
    openapi,
    unknownRules: structural.unknownRules,
    shape: schemaShape(openapi),
    prune(object) {
      const [kept, others] = divided(object, isSound);
      const pruned = structural.prune(others);
      return { object: inOrder(object, { ...pruned.object, ...kept }), unknown: pruned.unknown };
    },
    applyDefaults(object) {
      const [kept, others] = divided(object, isSound);
      const filled = structural.applyDefaults(others);
      for (const part of Object.values(filled)) if (isRecord(part)) sound.add(part);
      return inOrder(object, { ...filled, ...kept });
    },
    validate: structural.validate,
  };
}
