/** Field ownership: the entries of managedFields, and how writes move fields between managers. */
import { timestamp } from '#lib';
import { type ApiObject, type Json, record } from '../json.ts';
import type { ResourceShape } from '../resources/shape.ts';
import { StatusError } from '../status.ts';
import { difference, type FieldSet, intersection, isEmptySet, pathsOf, union } from './field-set.ts';
import { compare } from './fields.ts';

/** Writer of an object. */
export interface Writer {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource?: string | undefined;
  readonly nowMs: number;
}

export interface Managed extends Json {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly apiVersion: string;
  readonly time?: string;
  readonly fieldsType: string;
  readonly fieldsV1: FieldSet;
}

export const managerEntries = (object: ApiObject | undefined): readonly Managed[] =>
  ((object?.metadata.managedFields ?? []) as Managed[]).filter(({ manager }) => manager !== undefined);

export const isEntryOf = ({ manager, operation, subresource = '' }: Writer, entry: Managed): boolean =>
  entry.manager === manager && entry.operation === operation && (entry.subresource ?? '') === subresource;

/** Metadata fields without managers: fields that identify the object, and fields that only the server writes. */
const IDENTITY = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'managedFields',
  'creationTimestamp',
  'generation',
]);

/** Returns the part of an object that can have managers. */
export function manageable(object: Json): Json {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = object;
  const own = Object.entries(record(metadata)).filter(([name]) => !IDENTITY.has(name));
  return { ...rest, metadata: Object.fromEntries(own) };
}

/** Moves the changed fields to the writer's entry, and removes them from the remaining entries. */
export function afterUpdate(
  before: Json,
  after: Json,
  shape: ResourceShape,
  entries: readonly Managed[],
  writer: Writer,
): readonly Managed[] {
  const { changed, removed } = compare(manageable(before), manageable(after), shape);
  const lost = union(changed, removed);
  const others = entries.filter((entry) => !isEntryOf(writer, entry));
  const own = entries.find((entry) => isEntryOf(writer, entry));
  const fields = union(difference(own?.fieldsV1 ?? {}, removed), changed);
  return sortEntries([
    ...others.map((entry) => ({ ...entry, fieldsV1: difference(entry.fieldsV1, lost) })),
    entryFor(writer, String(after.apiVersion), fields, own),
  ]);
}

/** Returns the writer's entry with these fields, or its previous entry if the fields are equal. */
export function entryFor(writer: Writer, apiVersion: string, fieldsV1: FieldSet, before?: Managed): Managed {
  if (before && isSame(before.fieldsV1, fieldsV1)) return before;
  const { manager, operation, subresource, nowMs } = writer;
  return {
    manager,
    operation,
    apiVersion,
    // Kubernetes does not record the time when a scale is written.
    ...(subresource !== 'scale' && { time: timestamp(nowMs) }),
    fieldsType: 'FieldsV1',
    fieldsV1,
    ...(subresource && { subresource }),
  };
}

const isSame = (left: FieldSet, right: FieldSet): boolean =>
  isEmptySet(difference(left, right)) && isEmptySet(difference(right, left));

/** Sorts apply entries first, then by age and name. Omits entries without fields. */
export const sortEntries = (entries: readonly Managed[]): readonly Managed[] =>
  entries.filter(({ fieldsV1 }) => !isEmptySet(fieldsV1)).sort((left, right) => (rank(left) < rank(right) ? -1 : 1));

const rank = ({ operation, time = '', manager, subresource = '' }: Managed): string =>
  [operation, time, manager, subresource].join('\0');

/** @throws StatusError 409 if server-side apply changes fields of other managers */
export function checkConflicts(changed: FieldSet, others: readonly Managed[]): void {
  const found = others.flatMap((entry) =>
    pathsOf(intersection(entry.fieldsV1, changed)).map((field) => ({ who: describeManager(entry), field })),
  );
  if (found.length === 0) return;
  const count = `${found.length} conflict${found.length === 1 ? '' : 's'}`;
  throw new StatusError(409, 'Conflict', `Apply failed with ${count}: ${formatClashes(found)}`, {
    causes: found.map(({ who, field }) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  });
}

interface Clash {
  readonly who: string;
  readonly field: string;
}

/** Formats one conflict in a line, and several conflicts by manager. */
function formatClashes(found: readonly Clash[]): string {
  const [first] = found;
  if (first && found.length === 1) return `conflict with ${first.who}: ${first.field}`;
  const managers = [...new Set(found.map(({ who }) => who))].sort();
  return managers
    .map((who) => {
      const fields = found.filter((clash) => clash.who === who).map(({ field }) => `\n- ${field}`);
      return `conflicts with ${who}:${fields.join('')}`;
    })
    .join('\n');
}

function describeManager({ manager, operation, subresource, apiVersion }: Managed): string {
  const who = `${JSON.stringify(manager)}${subresource ? ` with subresource ${JSON.stringify(subresource)}` : ''}`;
  return operation === 'Update' ? `${who} using ${apiVersion}` : who;
}
