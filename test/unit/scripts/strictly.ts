/** Validates values against the output schemas of commands, and rejects fields that a schema does not declare. */
import type { TSchema } from 'typebox';
import * as schemas from 'typebox/schema';

type Json = { readonly [key: string]: unknown };

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (!isRecord(value)) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, closed(each)]));
  return 'properties' in value && !('additionalProperties' in value)
    ? { ...inner, additionalProperties: false }
    : inner;
}

/** Returns the errors of a value. Without a schema, every value is an error. */
export function strictly(schema: TSchema | undefined, value: unknown): readonly string[] {
  if (schema === undefined) return ['there is no such schema'];
  const [isFitting, errors] = schemas.Errors(closed(JSON.parse(JSON.stringify(schema))) as Json, value);
  return isFitting ? [] : errors.map(({ instancePath, message }) => `${instancePath}: ${message}`);
}
