/** Server-side apply: a manager states the fields it wants; what it stated before and states no more goes away. */
import { type ApiObject, at, clone, type Json, record, timestamp } from '../json.ts';
import type { Shape } from '../shape.ts';
import { StatusError } from '../status.ts';
import { clashes, type FieldSet, fieldsOf, mergeApplied, removeFields, without } from './fieldset.ts';

export interface ApplyOptions {
  readonly manager: string;
  readonly force: boolean;
  readonly subresource?: string | undefined;
  readonly nowMs: number;
}

interface Managed extends Json {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: FieldSet;
}

/** Fields that identify the object and belong to no manager. */
const IDENTITY = ['name', 'namespace', 'uid', 'resourceVersion', 'managedFields', 'creationTimestamp', 'generation'];

function ownedBy(applied: Json, shape: Shape): FieldSet {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = applied;
  const own = Object.entries(record(metadata)).filter(([name]) => !IDENTITY.includes(name));
  return fieldsOf(own.length > 0 ? { ...rest, metadata: Object.fromEntries(own) } : rest, shape);
}

/**
 * Applies a manager's configuration to the live object, or makes the object that is to be created.
 *
 * @throws StatusError 409 when another applier holds a field with another value and `force` is not set
 */
export function applyPatch(live: ApiObject | undefined, applied: Json, shape: Shape, options: ApplyOptions): ApiObject {
  const entries = (live?.metadata.managedFields ?? []) as Managed[];
  const isOwn = (entry: Managed): boolean =>
    entry.manager === options.manager &&
    entry.operation === 'Apply' &&
    (entry.subresource ?? '') === (options.subresource ?? '');
  const fields = ownedBy(applied, shape);
  const others = entries.filter((entry) => !isOwn(entry));
  if (live && !options.force) checkConflicts(live, applied, fields, others);
  const dropped = without(entries.find(isOwn)?.fieldsV1 ?? {}, fields);
  const removable = others.reduce((set, other) => without(set, other.fieldsV1), dropped);
  const base = live && Object.keys(removable).length > 0 ? removeFields(live, removable, shape) : live;
  const merged = clone(mergeApplied(base ?? {}, applied, shape)) as ApiObject;
  const own = {
    manager: options.manager,
    operation: 'Apply',
    ...(options.subresource && { subresource: options.subresource }),
    apiVersion: merged.apiVersion,
    time: timestamp(options.nowMs),
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
  };
  const kept = options.force
    ? others.map((other) => ({ ...other, fieldsV1: without(other.fieldsV1, fields) }))
    : others;
  const unchanged = entries.find((entry) => isOwn(entry) && JSON.stringify(entry.fieldsV1) === JSON.stringify(fields));
  merged.metadata.managedFields = [...kept.filter((entry) => Object.keys(entry.fieldsV1).length > 0), unchanged ?? own];
  return merged;
}

function checkConflicts(live: Json, applied: Json, fields: FieldSet, others: readonly Managed[]): void {
  const differing = (path: string): boolean => {
    if (path.includes('[')) return false;
    const names = path.slice(1).split('.');
    return JSON.stringify(at(live, ...names)) !== JSON.stringify(at(applied, ...names));
  };
  const found = others
    .filter(({ operation }) => operation === 'Apply')
    .flatMap((other) =>
      clashes(fields, other.fieldsV1)
        .filter(differing)
        .map((field) => ({ manager: other.manager, field })),
    );
  if (found.length === 0) return;
  const listed = found.map(({ manager, field }) => `conflict with ${JSON.stringify(manager)}: ${field}`);
  const count = `${found.length} conflict${found.length === 1 ? '' : 's'}`;
  throw new StatusError(409, 'Conflict', `Apply failed with ${count}: ${listed.join(', ')}`, {
    causes: found.map(({ manager, field }) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${JSON.stringify(manager)}`,
      field,
    })),
  });
}
