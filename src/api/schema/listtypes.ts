/** Finds duplicates in lists that are sets or have keys. */

import { isObject } from '../../lib/json-object.ts';
import { own } from '../../lib/own.ts';
import { type Cause, duplicate, invalid, show } from './cause.ts';
import { fieldOf, mapKey, type OpenApiSchema } from './openapi.ts';

/** @param old the replaced value. Parts that are identical to it are not checked again. */
export function duplicates(schema: OpenApiSchema | undefined, value: unknown, old?: unknown, path = ''): Cause[] {
  if (!schema || (value === old && typeof value === 'object')) return [];
  if (Array.isArray(value)) {
    return [
      ...findRepeated(schema, value, path),
      ...value.flatMap((item, index) => duplicates(schema.items, item, undefined, `${path}[${index}]`)),
    ];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, field]) => {
    const declared = schema.properties !== undefined && Object.hasOwn(schema.properties, key);
    const at = declared ? (path === '' ? key : `${path}.${key}`) : `${path}[${key}]`;
    return duplicates(fieldOf(schema, key), field, isObject(old) ? own(old, key) : undefined, at);
  });
}

function findRepeated(schema: OpenApiSchema, items: readonly unknown[], path: string): Cause[] {
  const listType = schema['x-kubernetes-list-type'];
  if (listType !== 'set' && listType !== 'map') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const misfit = listType === 'map' ? items.findIndex((item) => item !== null && !isObject(item)) : -1;
  if (misfit >= 0) {
    return [invalid(`${path}[${misfit}]`, items[misfit], 'must be an object for an array of list-type map')];
  }
  const times = new Map<string, number>();
  return items.flatMap((item, index) => {
    const identity = listType === 'map' ? mapKey(item, keys) : show(item);
    const time = (times.get(identity) ?? 0) + 1;
    times.set(identity, time);
    // only the first repetition is reported
    return time === 2 ? [duplicate(`${path}[${index}]`, identity)] : [];
  });
}
