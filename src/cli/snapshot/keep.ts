/** Applies the rules of `api/kept-fields.ts` to redacted snapshots. An object has a rule for each field, and cannot be open. */

import type { Keep } from '#api/objects';
import { isObject, type JsonObject, own, put } from '#lib';
import { redactedAnnotation } from '../objects/redaction.ts';

/** Returns the part of the value that is kept, or undefined. */
export function kept(value: unknown, keep: Keep): unknown {
  if (keep === false || keep === 'private') return undefined;
  if (keep === 'digest') return digested(value);
  if (Array.isArray(value)) {
    const items = value.map((item) => kept(item, keep));
    // items with other rules keep their positions
    return keep === true ? items.filter((item) => item !== undefined) : items;
  }
  // numbers in place of an object are not confidential, and show that the object is malformed
  if (!isObject(value)) return keep === true || typeof value !== 'string' ? value : undefined;
  if (keep === true) return undefined;
  return mapped(value, (inner, field) =>
    kept(inner, keep === 'map' ? true : (own(keep, field) ?? own(keep, '*') ?? false)),
  );
}

const digested = (value: unknown): unknown => {
  if (typeof value === 'string') return redactedAnnotation(value);
  if (Array.isArray(value)) return value.map(digested);
  return isObject(value) ? mapped(value, digested) : value;
};

/** Returns a rule that keeps the parts that either of the two keeps. */
export function merged(one: Keep, other: Keep | undefined): Keep {
  if (typeof one !== 'object' || typeof other !== 'object') return other ?? one;
  const fields = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...fields].map((field) => [field, merged(own(one, field) ?? false, own(other, field))]));
}

function mapped(value: JsonObject, change: (inner: unknown, field: string) => unknown): JsonObject {
  const found: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(value)) {
    const rest = change(inner, field);
    if (rest !== undefined) put(found, field, rest);
  }
  return found;
}
