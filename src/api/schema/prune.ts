/** Removes fields that a schema does not declare, as the API server does before it stores an object. */
import { isObject, type JsonObject } from '../../lib/json-object.ts';
import { fieldOf, type OpenApiSchema } from './openapi.ts';

const RESOURCE_FIELDS = new Set(['apiVersion', 'kind', 'metadata']);

/** Returns a copy of the object without undeclared fields, and their sorted paths. */
export function prune(schema: OpenApiSchema, value: unknown): { object: unknown; unknown: string[] } {
  const unknown: string[] = [];
  return { object: pruneValue(schema, value, '', unknown, true), unknown: unknown.sort() };
}

function pruneValue(
  schema: OpenApiSchema,
  value: unknown,
  path: string,
  unknown: string[],
  isResource: boolean,
): unknown {
  if (Array.isArray(value)) {
    const items = schema.items ?? {};
    const embedded = items['x-kubernetes-embedded-resource'] === true;
    return value.map((item, index) => pruneValue(items, item, `${path}[${index}]`, unknown, embedded));
  }
  return isObject(value) ? prunedObject(schema, value, path, unknown, isResource) : value;
}

function prunedObject(
  schema: OpenApiSchema,
  value: JsonObject,
  path: string,
  unknown: string[],
  isResource: boolean,
): JsonObject {
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
  const kept: [string, unknown][] = [];
  for (const [key, field] of Object.entries(value)) {
    const at = path === '' ? key : `${path}.${key}`;
    const known = fieldOf(schema, key);
    if (isResource && RESOURCE_FIELDS.has(key)) kept.push([key, field]);
    else if (known) {
      kept.push([key, pruneValue(known, field, at, unknown, known['x-kubernetes-embedded-resource'] === true)]);
    } else if (open) kept.push([key, field]);
    else unknown.push(at);
  }
  return Object.fromEntries(kept);
}
