import { isObject, type JsonObject } from '../lib/json-object.ts';

/** Returns true if two values have the same JSON. Unchanged values are shared, so most comparisons end at identity. */
export const sameJson = (one: unknown, other: unknown): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

/** Returns the JSON of a value with sorted keys. Clients may write the same object with keys in another order. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (isObject(part) ? sortedByKey(part) : part));

const sortedByKey = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
