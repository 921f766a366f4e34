import { own, put } from './own.ts';

/** JSON object, which is neither a list nor null. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Compares JSON values. The order of fields is irrelevant, and undefined fields count as missing. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    return Array.isArray(right) && left.length === right.length && left.every((item, i) => sameJson(item, right[i]));
  }
  if (!isObject(left) || !isObject(right)) return false;
  for (const name of Object.keys(left)) if (!sameJson(left[name], own(right, name))) return false;
  for (const name of Object.keys(right)) if (right[name] !== undefined && !Object.hasOwn(left, name)) return false;
  return true;
}

/**
 * Returns a deep copy. Omits undefined fields, which JSON does not have. Much faster than `structuredClone` for plain
 * JSON.
 */
export function cloneJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map(cloneJson) as T;
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const field = value[key];
    if (field !== undefined) put<unknown>(copy, key, cloneJson(field));
  }
  return copy as T;
}

/** Returns the JSON of a value with sorted keys. Clients may write the same object with keys in another order. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
