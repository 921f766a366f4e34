/** Part of OpenAPI v3 that schemas of custom resources use. */
import { isObject } from '#lib';
import type { CelRule } from './declare.ts';

export interface OpenApiSchema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly items?: OpenApiSchema;
  readonly required?: readonly string[];
  readonly allOf?: readonly OpenApiSchema[];
  readonly anyOf?: readonly OpenApiSchema[];
  readonly oneOf?: readonly OpenApiSchema[];
  readonly not?: OpenApiSchema;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

/** Returns the schema of the values of a map, if there is one. */
export const valuesOf = (schema: OpenApiSchema): OpenApiSchema | undefined =>
  typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;

/** Returns the schema of a field of an object: declared, or that of the values of a map. */
export const fieldOf = (schema: OpenApiSchema, key: string): OpenApiSchema | undefined =>
  schema.properties && Object.hasOwn(schema.properties, key) ? schema.properties[key] : valuesOf(schema);

/** Returns the item of an earlier list with the same keys, for lists with keys. */
export function counterpartIn(schema: OpenApiSchema, old: unknown): (item: unknown) => unknown {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] !== 'map' || !keys || !Array.isArray(old)) return () => undefined;
  const byKey = new Map(old.map((item) => [mapKey(item, keys), item]));
  return (item) => byKey.get(mapKey(item, keys));
}

/** Returns the key of an item of a list with keys, as JSON. */
export const mapKey = (item: unknown, keys: readonly string[]): string =>
  JSON.stringify(Object.fromEntries(isObject(item) ? keys.map((key) => [key, item[key]]) : []));
