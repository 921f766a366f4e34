/** Describes the differences between the objects of two clusters. */

import type { KubeObject } from '../../api/kubernetes.ts';
import { isObject, type JsonObject } from '../../lib/json-object.ts';
import { own } from '../../lib/own.ts';
import { identityOf } from '../objects/read.ts';

/** Maximum length of a value. Longer values are truncated. */
const LONGEST = 60;
/** Maximum number of listed changes per object. Further changes are only counted. */
const MOST = 8;

/**
 * Returns a line for each object that only one cluster has, and for each changed field: `NodePool web: spec.weight 1
 * → 5`.
 */
export function objectDifferences(before: readonly KubeObject[], after: readonly KubeObject[]): readonly string[] {
  const known = new Map(before.map((object) => [identityOf(object), object]));
  const lines = after.flatMap((object) => {
    const was = known.get(identityOf(object));
    known.delete(identityOf(object));
    if (was === undefined) return [`${nameOf(object)}: added`];
    const changed = changesOf(was, object);
    const more = changed.length - MOST;
    return [...changed.slice(0, MOST), ...(more > 0 ? [`and ${more} more fields`] : [])].map(
      (line) => `${nameOf(object)}: ${line}`,
    );
  });
  return [...lines, ...[...known.values()].map((object) => `${nameOf(object)}: removed`)];
}

const nameOf = ({ kind, metadata: { namespace, name } }: KubeObject): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;

function changesOf(before: unknown, after: unknown, path = ''): readonly string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const [from, to] = [fieldsOf(before), fieldsOf(after)];
  if (from === undefined || to === undefined) return [`${path} ${formatValue(before)} → ${formatValue(after)}`];
  const isList = Array.isArray(after);
  return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((key) =>
    changesOf(own(from, key), own(to, key), isList ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${key}`),
  );
}

/**
 * Returns the fields of an object. A list whose items have keys or names, such as requirements, is treated as an
 * object.
 */
function fieldsOf(value: unknown): JsonObject | undefined {
  if (!Array.isArray(value)) return isObject(value) ? value : undefined;
  const named = value.flatMap((item): readonly (readonly [string, unknown])[] => {
    const name = isObject(item) ? (item.key ?? item.name) : undefined;
    return typeof name === 'string' ? [[name, item]] : [];
  });
  const fields = Object.fromEntries(named);
  return Object.keys(fields).length === value.length ? fields : undefined;
}

function formatValue(value: unknown): string {
  if (value === undefined) return 'unset';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
