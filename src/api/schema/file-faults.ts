/** Checks of files beyond the validation with a schema. */

import { isObject, nearestName, quoted } from '#lib';
import { fieldOf, type OpenApiSchema } from './openapi.ts';

/** Returns errors for unknown fields at any depth, with the most similar known name. */
export function unknownFields(value: unknown, schema: OpenApiSchema, at = ''): readonly string[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => unknownFields(item, schema.items ?? {}, `${at}[${index}].`));
  if (!isObject(value)) return [];
  const known = Object.keys(schema.properties ?? {});
  return Object.entries(value).flatMap(([key, inner]) => {
    const within = Array.isArray(inner) ? `${at}${key}` : `${at}${key}.`;
    if (known.includes(key)) return unknownFields(inner, fieldOf(schema, key) ?? {}, within);
    const near = nearestName(key, known);
    return [`unknown field ${quoted(`${at}${key}`)}${near === undefined ? '' : `, is ${quoted(near)} meant?`}`];
  });
}

/** Returns an error for infinite numbers and NaN, which YAML allows and JSON does not. */
export function infinite(value: unknown, at = ''): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `${at} must be a finite number`;
  if (typeof value !== 'object' || value === null) return undefined;
  const inner = Object.entries(value).map(([key, each]) => infinite(each, at === '' ? key : `${at}.${key}`));
  return inner.find((wrong) => wrong !== undefined);
}

/** Formats a value for a message. */
export const formatValue = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 80);
