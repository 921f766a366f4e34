/**
 * Sets of fields in the FieldsV1 form of managedFields: `{ "f:spec": { "f:replicas": {} } }`. A field belongs to the
 * set if its node is empty or contains the mark ".".
 */
import { own } from '#lib';

export interface FieldSet {
  readonly [path: string]: FieldSet;
}

const MARK = '.';

export const isEmptySet = (set: FieldSet): boolean => Object.keys(set).length === 0;

const isMember = (node: FieldSet): boolean => isEmptySet(node) || Object.hasOwn(node, MARK);

const inside = (node: FieldSet): [string, FieldSet][] => Object.entries(node).filter(([name]) => name !== MARK);

/** Returns a field with its children, or undefined if the set contains neither. */
function node(isIn: boolean, under: FieldSet): FieldSet | undefined {
  if (isEmptySet(under)) return isIn ? {} : undefined;
  return isIn ? { [MARK]: {}, ...under } : under;
}

function mapFields(left: FieldSet, rule: (name: string, field: FieldSet) => FieldSet | undefined): FieldSet {
  const fields = inside(left).flatMap(([name, field]): [string, FieldSet][] => {
    const kept = rule(name, field);
    return kept ? [[name, kept]] : [];
  });
  return Object.fromEntries(fields);
}

/** Returns the fields of `left` that are not in `right`. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return mapFields(left, (name, field) => {
    const other = own(right, name);
    return other ? node(isMember(field) && !isMember(other), difference(field, other)) : field;
  });
}

/** Returns the fields in both sets. */
export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  return mapFields(left, (name, field) => {
    const other = own(right, name);
    return other && node(isMember(field) && isMember(other), intersection(field, other));
  });
}

/** Returns the fields in either set. */
export function union(left: FieldSet, right: FieldSet): FieldSet {
  const both = mapFields(left, (name, field) => {
    const other = own(right, name);
    return other ? node(isMember(field) || isMember(other), union(field, other)) : field;
  });
  return { ...both, ...Object.fromEntries(inside(right).filter(([name]) => !Object.hasOwn(both, name))) };
}

/** Returns the set with all containers of its fields. */
export const withContainers = (set: FieldSet): FieldSet =>
  mapFields(set, (_, field) => node(true, withContainers(field)));

/** Formats one step of a path as Kubernetes does: `.replicas`, `[name="main"]`, `[="x"]`. */
function step(name: string): string {
  const rest = name.slice(2);
  if (name.startsWith('f:')) return `.${rest}`;
  if (name.startsWith('v:')) return `[=${rest}]`;
  const keys = Object.entries(JSON.parse(rest) as Record<string, unknown>);
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}

/** Returns every field of the set as a path: `.spec.replicas`. */
export function pathsOf(set: FieldSet, path = ''): readonly string[] {
  return inside(set).flatMap(([name, field]) => {
    const at = `${path}${step(name)}`;
    return [...(isMember(field) ? [at] : []), ...pathsOf(field, at)];
  });
}
