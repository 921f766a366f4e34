/**
 * Sets of fields in the FieldsV1 form of managedFields: `{ "f:spec": { "f:replicas": {} } }`. A field is in the set when
 * nothing is under it, or when the mark "." is.
 */
import { own } from '../../../../lib/own.ts';

export interface FieldSet {
  readonly [path: string]: FieldSet;
}

const MARK = '.';

export const isEmptySet = (set: FieldSet): boolean => Object.keys(set).length === 0;

const isMember = (node: FieldSet): boolean => isEmptySet(node) || Object.hasOwn(node, MARK);

const inside = (node: FieldSet): [string, FieldSet][] => Object.entries(node).filter(([name]) => name !== MARK);

/** A field with what is under it; undefined when neither is in the set. */
function node(isIn: boolean, under: FieldSet): FieldSet | undefined {
  if (isEmptySet(under)) return isIn ? {} : undefined;
  return isIn ? { [MARK]: {}, ...under } : under;
}

function combined(left: FieldSet, rule: (name: string, field: FieldSet) => FieldSet | undefined): FieldSet {
  const fields = inside(left).flatMap(([name, field]): [string, FieldSet][] => {
    const kept = rule(name, field);
    return kept ? [[name, kept]] : [];
  });
  return Object.fromEntries(fields);
}

/** Fields of `left` that `right` does not have. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return combined(left, (name, field) => {
    const other = own(right, name);
    return other ? node(isMember(field) && !isMember(other), difference(field, other)) : field;
  });
}

/** Fields that both have. */
export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  return combined(left, (name, field) => {
    const other = own(right, name);
    return other && node(isMember(field) && isMember(other), intersection(field, other));
  });
}

/** Fields that either has. */
export function union(left: FieldSet, right: FieldSet): FieldSet {
  const both = combined(left, (name, field) => {
    const other = own(right, name);
    return other ? node(isMember(field) || isMember(other), union(field, other)) : field;
  });
  return { ...both, ...Object.fromEntries(inside(right).filter(([name]) => !Object.hasOwn(both, name))) };
}

/** The set with everything that something of it stands in. */
export const withContainers = (set: FieldSet): FieldSet =>
  combined(set, (_, field) => node(true, withContainers(field)));

/** One step of a path as Kubernetes writes it: `.replicas`, `[name="main"]`, `[="x"]`. */
function step(name: string): string {
  const rest = name.slice(2);
  if (name.startsWith('f:')) return `.${rest}`;
  if (name.startsWith('v:')) return `[=${rest}]`;
  const keys = Object.entries(JSON.parse(rest) as Record<string, unknown>);
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}

/** Every field of the set as a path: `.spec.replicas`. */
export function pathsOf(set: FieldSet, path = ''): readonly string[] {
  return inside(set).flatMap(([name, field]) => {
    const at = `${path}${step(name)}`;
    return [...(isMember(field) ? [at] : []), ...pathsOf(field, at)];
  });
}
