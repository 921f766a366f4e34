/** Fields of objects: which an object sets, which changed between two, and an object without some or with more. */
import { own, put } from '../../../../lib/own.ts';
import { equal, isRecord, type Json, list } from '../json.ts';
import { ANY, fieldShape, type Shape } from '../resources/shape.ts';
import { type FieldSet, isEmptySet } from './field-set.ts';

/** Values of keys that items leave out. */
const KEY_DEFAULTS: Json = { protocol: 'TCP' };

/** Identity of a list item: its keys, sorted, as FieldsV1 writes them. */
function itemKey(item: unknown, keys: readonly string[]): string {
  const found = isRecord(item) ? item : {};
  const values = keys.map((key) => [key, found[key] ?? KEY_DEFAULTS[key]] as const);
  const pairs = values.filter(([, value]) => value !== undefined);
  return `k:${JSON.stringify(Object.fromEntries(pairs))}`;
}

/** Whether a list is merged by item rather than replaced as a whole. */
const isMerged = (shape: Shape): boolean => shape.type === 'list' && (shape.keys !== undefined || shape.set === true);

interface Child {
  readonly value: unknown;
  readonly shape: Shape;
}

/** What is under a value, by the steps of FieldsV1; undefined for what counts as a whole. */
function childrenOf(value: unknown, shape: Shape): ReadonlyMap<string, Child> | undefined {
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

/** Every field that an applied object sets. Of what has parts, list items alone are fields as well. */
export function fieldsOf(value: unknown, shape: Shape): FieldSet {
  const children = [...(childrenOf(value, shape) ?? [])].map(([name, child]) => {
    const inner = fieldsOf(child.value, child.shape);
    return [name, name.startsWith('k:') ? { '.': {}, ...inner } : inner] as const;
  });
  return Object.fromEntries(children);
}

/** Every field of a value that is new as a whole, or gone. */
function wholeOf(value: unknown, shape: Shape): FieldSet {
  const children = childrenOf(value, shape);
  if (!children || children.size === 0) return {};
  const inner = [...children].map(([name, child]) => [name, wholeOf(child.value, child.shape)] as const);
  return { '.': {}, ...Object.fromEntries(inner) };
}

export interface Difference {
  /** New or with another value. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** The fields in which two objects differ. What has parts is itself a field of the difference when it came or went. */
export function compare(before: Json, after: Json, shape: Shape): Difference {
  return within(childrenOf(before, shape), childrenOf(after, shape));
}

type Children = ReadonlyMap<string, Child> | undefined;

function within(before: Children, after: Children): Difference {
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

/** The object without the leaves of the set; containers that become empty go too. */
export function removeFields(value: unknown, set: FieldSet, shape: Shape): unknown {
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

function removeItems(value: readonly unknown[], set: FieldSet, shape: Shape): unknown[] {
  const { keys, items = ANY } = shape;
  return value.flatMap((item) => {
    const id = keys ? itemKey(item, keys) : `v:${JSON.stringify(item)}`;
    const inner = own(set, id);
    if (!inner) return [item];
    // the mark "." is in the set only when the item as a whole was owned and is no more
    if (!keys || '.' in inner) return [];
    const rest = removeFields(item, inner, items);
    return rest === undefined ? [] : [rest];
  });
}

/** A list merged by item keys, as apply does. */
export function mergeApplied(live: unknown, applied: unknown, shape: Shape): unknown {
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
