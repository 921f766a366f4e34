/** The schema of one version of a custom resource, ready for use on objects. */
import { structuralSchema } from '../../../../api/schema/structural.ts';
import type { Json } from '../json.ts';
import type { Cause } from '../status.ts';
import { type Shape, schemaShape } from './shape.ts';

export interface CrdSchema {
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
  validate(object: Json, old?: Json, part?: 'status'): readonly Cause[];
}

/** Compiles `spec.versions[].schema.openAPIV3Schema`, with `subresources.scale` of the same version. */
export function crdSchema(
  openapi: Json,
  scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string },
): CrdSchema {
  const structural = structuralSchema(openapi, scale);
  return {
    openapi,
    shape: schemaShape(openapi),
    prune: (object) => structural.prune(object),
    applyDefaults: (object) => structural.applyDefaults(object),
    validate: (object, old, part) => structural.validate(object, old, part),
  };
}
