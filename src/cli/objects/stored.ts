/** Custom resources among manifests as the API server would store them. */
import { customResourceDefinitions } from '../../api/crds.ts';
import type { KubeObject } from '../../api/kubernetes.ts';
import { type StructuralSchema, structuralSchema } from '../../api/schema/structural.ts';
import { InputError } from './errors.ts';
import type { Manifest } from './read.ts';

const schemas = new Map<string, StructuralSchema>();

/** The rules of a kind's CustomResourceDefinition. */
function schemaOf(kind: string): StructuralSchema | undefined {
  const known = schemas.get(kind);
  const definition = customResourceDefinitions().find(({ spec }) => spec.names.kind === kind);
  if (known !== undefined || definition === undefined) return known;
  const schema = structuralSchema(definition.spec.versions[0]?.schema.openAPIV3Schema);
  schemas.set(kind, schema);
  return schema;
}

/** With its defaults. @throws InputError with everything that the API server would reject */
export function stored<T extends KubeObject>({ object, where }: Manifest): T {
  const schema = schemaOf(object.kind);
  const result = schema === undefined ? object : schema.applyDefaults(object);
  const causes = schema?.validate(result) ?? [];
  if (causes.length > 0)
    throw new InputError(where, causes.map(({ field, message }) => `${field}: ${message}`).join('; '));
  return result as T;
}
