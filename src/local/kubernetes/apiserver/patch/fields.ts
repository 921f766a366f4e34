/**
 * Fields of objects: the fields that an object sets, changes between two objects, and removal or addition of fields.
 */
import { own, put } from '#lib';
import { equal, isRecord, type Json, list } from '../json.ts';
import { ANY, fieldShape, type ResourceShape } from '../resources/shape.ts';
import { type FieldSet, isEmptySet } from './field-set.ts';

/** Default values of keys that list items may omit. */
const KEY_DEFAULTS: Json = { protocol: 'TCP' };

/** Returns the identity of a list item: its sorted keys in the FieldsV1 form. */
function itemKey(item: unknown, keys: readonly string[]): string {
  const found = isRecord(item) ? item : {};
  const values = keys.map((key) => [key, found[key] ?? KEY_DEFAULTS[key]] as const);
  const pairs = values.filter(([, value]) => value !== undefined);
  return `k:${JSON.stringify(Object.fromEntries(pairs))}`;
}

/** Reports whether a list is merged by item instead of being replaced as a whole. */
const isMerged = (shape: ResourceShape): boolean =>
  shape.type === 'list' && (shape.keys !== undefined || shape.set === true);

interface Child {
  readonly value: unknown;
  readonly shape: ResourceShape;
}

/** Returns the children of a value by FieldsV1 step, or undefined if the value is atomic. */
function childrenOf(value: unknown, shape: ResourceShape): ReadonlyMap<string, Child> | undefined {
  if (shape.atomic === true) return undefined;
  if (isRecord(value)) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return new Map(fields.map(([name, field]) => [`f:${name}`, { value: field, shape: fieldShape(shape, name) }]));
  }
  if (!Array.isArray(value) || !isMerged(shape)) return undefined;
  const { keys, items = ANY } = shape;
  return new Map(
    value.map((item) => [keys ? itemKey(item, keys) : `v:${JSON.stringify(item)}`, { value: item, shape: items }]),
  );
}

/** Returns every field that an applied object sets. Containers are not fields themselves, except for list items. */
export function fieldsOf(value: unknown, shape: ResourceShape): FieldSet {
  const children = [...(childrenOf(value, shape) ?? [])].map(([name, child]) => {
    const inner = fieldsOf(child.value, child.shape);
    return [name, name.startsWith('k:') ? { '.': {}, ...inner } : inner] as const;
  });
  return Object.fromEntries(children);
}

/** Returns every field of a value that was added or removed as a whole. */
function wholeOf(value: unknown, shape: ResourceShape): FieldSet {
  const children = childrenOf(value, shape);
  if (!children || children.size === 0) return {};
  const inner = [...children].map(([name, child]) => [name, wholeOf(child.value, child.shape)] as const);
  return { '.': {}, ...Object.fromEntries(inner) };
}

export interface FieldDifference {
  /** Added fields and fields with a different value. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/**
 * Returns the fields in which two objects differ. A container is a field of the difference if it was added or removed.
 */
export function compare(before: Json, after: Json, shape: ResourceShape): FieldDifference {
  return within(childrenOf(before, shape), childrenOf(after, shape));
}

type Children = ReadonlyMap<string, Child> | undefined;

function within(before: Children, after: Children): FieldDifference {
  const changed: Record<string, FieldSet> = {};
  const removed: Record<string, FieldSet> = {};
  for (const [name, old] of before ?? []) if (!after?.has(name)) removed[name] = wholeOf(old.value, old.shape);
  for (const [name, child] of after ?? []) {
    const old = before?.get(name);
    if (old && equal(old.value, child.value)) continue;
    const [oldInner, inner] = [old && childrenOf(old.value, old.shape), childrenOf(child.value, child.shape)];
    if (!oldInner || !inner) {
      changed[name] = wholeOf(child.value, child.shape);
      continue;
    }
    const found = within(oldInner, inner);
    if (!isEmptySet(found.changed)) changed[name] = found.changed;
    if (!isEmptySet(found.removed)) removed[name] = found.removed;
  }
  return { changed, removed };
}

/** Returns the object without the leaves of the set, and without containers that this makes empty. */
export function removeFields(value: unknown, set: FieldSet, shape: ResourceShape): unknown {
  if (isEmptySet(set)) return undefined;
  if (Array.isArray(value)) return removeItems(value, set, shape);
  if (!isRecord(value)) return value;
  const out: Json = { ...value };
  for (const [path, inner] of Object.entries(set)) {
    const name = path.slice(2);
    if (!path.startsWith('f:') || !Object.hasOwn(out, name)) continue;
    const rest = removeFields(out[name], inner, fieldShape(shape, name));
    if (rest === undefined || isEmptied(rest, out[name])) delete out[name];
    else out[name] = rest;
  }
  return out;
}

const isEmptied = (rest: unknown, before: unknown): boolean =>
  isRecord(rest) && isRecord(before) && Object.keys(rest).length === 0 && Object.keys(before).length > 0;

function removeItems(value: readonly unknown[], set: FieldSet, shape: ResourceShape): unknown[] {
  const { keys, items = ANY } = shape;
  return value.flatMap((item) => {
    const id = keys ? itemKey(item, keys) : `v:${JSON.stringify(item)}`;
    const inner = own(set, id);
    if (!inner) return [item];
    // the set contains the mark "." only if the manager owned the item as a whole and no longer does
    if (!keys || '.' in inner) return [];
    const rest = removeFields(item, inner, items);
    return rest === undefined ? [] : [rest];
  });
}

/** Merges a list by item keys, as server-side apply does. */
export function mergeApplied(live: unknown, applied: unknown, shape: ResourceShape): unknown {
  if (isRecord(applied) && shape.atomic !== true) {
    const out: Json = isRecord(live) ? { ...live } : {};
    for (const [name, value] of Object.entries(applied)) {
      put(out, name, mergeApplied(own(out, name), value, fieldShape(shape, name)));
    }
    return out;
  }
  if (!Array.isArray(applied) || !isMerged(shape)) return applied;
  const { keys, items = ANY } = shape;
  const id = (item: unknown): string => (keys ? itemKey(item, keys) : JSON.stringify(item));
  const out = [...list(live)];
  for (const item of applied) {
    const index = out.findIndex((kept) => id(kept) === id(item));
    if (index < 0) out.push(item);
    else out[index] = mergeApplied(out[index], item, items);
  }
  return out;
}
