/** Sets of fields in the FieldsV1 form of managedFields: `{ "f:spec": { "f:replicas": {} } }`. */
import { isRecord, type Json, list } from '../json.ts';
import { ANY, fieldShape, type Shape } from '../shape.ts';

export interface FieldSet {
  readonly [path: string]: FieldSet;
}

/** Identity of a list item: its keys, sorted, as FieldsV1 writes them. */
export function itemKey(item: unknown, keys: readonly string[]): string {
  const found = isRecord(item) ? item : {};
  const pairs = keys.filter((key) => found[key] !== undefined).map((key) => [key, found[key]]);
  return `k:${JSON.stringify(Object.fromEntries(pairs))}`;
}

/** Whether the shape's list is merged by item rather than replaced as a whole. */
const isMerged = (shape: Shape): boolean => shape.type === 'list' && (shape.keys !== undefined || shape.set === true);

/** Every field that an applied object sets. */
export function fieldsOf(value: unknown, shape: Shape): FieldSet {
  if (isRecord(value)) {
    const fields = Object.entries(value).map(
      ([name, field]) => [`f:${name}`, fieldsOf(field, fieldShape(shape, name))] as const,
    );
    return Object.fromEntries(fields);
  }
  if (!Array.isArray(value) || !isMerged(shape)) return {};
  const { keys, items = ANY } = shape;
  if (!keys) return Object.fromEntries(value.map((item) => [`v:${JSON.stringify(item)}`, {}] as const));
  return Object.fromEntries(value.map((item) => [itemKey(item, keys), { '.': {}, ...fieldsOf(item, items) }] as const));
}

/** Fields of `left` that `right` does not have; whole subtrees where right has nothing of them. */
export function without(left: FieldSet, right: FieldSet): FieldSet {
  const out: Record<string, FieldSet> = {};
  for (const [path, inner] of Object.entries(left)) {
    const other = right[path];
    if (!other) {
      out[path] = inner;
      continue;
    }
    const rest = without(inner, other);
    if (Object.keys(rest).length > 0) out[path] = rest;
  }
  return out;
}

/** The object without the leaves of the set; containers that become empty go too. */
export function removeFields(value: unknown, set: FieldSet, shape: Shape): unknown {
  if (Object.keys(set).length === 0) return undefined;
  if (Array.isArray(value)) return removeItems(value, set, shape);
  if (!isRecord(value)) return value;
  const out: Json = { ...value };
  for (const [path, inner] of Object.entries(set)) {
    const name = path.slice(2);
    if (!path.startsWith('f:') || !(name in out)) continue;
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
    const inner = set[id];
    if (!inner) return [item];
    // the mark "." is in the set only when the item as a whole was owned and is no more
    if (!keys || '.' in inner) return [];
    const rest = removeFields(item, inner, items);
    return rest === undefined ? [] : [rest];
  });
}

/** Paths (`.spec.replicas`) of leaves that are in both sets. */
export function clashes(left: FieldSet, right: FieldSet, path = ''): readonly string[] {
  return Object.entries(left).flatMap(([name, inner]) => {
    const other = right[name];
    if (!other || name === '.') return [];
    const at = name.startsWith('f:') ? `${path}.${name.slice(2)}` : `${path}[${name.slice(2)}]`;
    const isLeaf = Object.keys(inner).length === 0 && Object.keys(other).length === 0;
    return isLeaf ? [at] : clashes(inner, other, at);
  });
}

/** A list merged by item keys, as apply does. */
export function mergeApplied(live: unknown, applied: unknown, shape: Shape): unknown {
  if (isRecord(applied)) {
    const out: Json = isRecord(live) ? { ...live } : {};
    for (const [name, value] of Object.entries(applied)) {
      out[name] = mergeApplied(out[name], value, fieldShape(shape, name));
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
