/** Adds the defaults of a schema and removes nulls without meaning, as the API server does for writes. */

import { cloneJson, isObject } from '../../lib/json-object.ts';
import { put } from '../../lib/own.ts';
import { fieldOf, type OpenApiSchema, valuesOf } from './openapi.ts';

/** Returns a copy of the object with defaults. */
export const withDefaults = (schema: OpenApiSchema, value: unknown): unknown =>
  withoutNulls(schema, fillDefaults(schema, value));

function fillDefaults(schema: OpenApiSchema | undefined, value: unknown): unknown {
  if (!schema) return value;
  if (Array.isArray(value)) return value.map((item) => fillDefaults(schema.items, orDefault(schema.items, item)));
  if (!isObject(value)) return value;
  const fields: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value)) {
    const known = fieldOf(schema, key);
    put(fields, key, fillDefaults(known, orDefault(known, field)));
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (property.default !== undefined && !Object.hasOwn(fields, key)) {
      put(fields, key, fillDefaults(property, cloneJson(property.default)));
    }
  }
  return fields;
}

const orDefault = (schema: OpenApiSchema | undefined, value: unknown): unknown =>
  value === null && schema?.default !== undefined && !schema.nullable ? cloneJson(schema.default) : value;

function withoutNulls(schema: OpenApiSchema | undefined, value: unknown): unknown {
  if (!schema) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(schema.items, item));
  if (!isObject(value)) return value;
  const fields: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value)) {
    const known = fieldOf(schema, key) ?? valuesOf(schema);
    if (field === null && known && !known.nullable) continue;
    put(fields, key, withoutNulls(known, field));
  }
  return fields;
}
