/**
 * Server-side apply: a manager declares its desired fields. Fields that it declared before and no longer declares are
 * removed.
 */
import { type ApiObject, clone, type Json } from '../json.ts';
import type { Shape } from '../resources/shape.ts';
import { difference, type FieldSet, isEmptySet, union, withContainers } from './field-set.ts';
import { compare, fieldsOf, mergeApplied, removeFields } from './fields.ts';
import { checkConflicts, entriesOf, entryFor, isEntryOf, manageable, sortEntries, type Writer } from './managers.ts';

export interface ApplyOptions {
  readonly manager: string;
  readonly force: boolean;
  readonly subresource?: string | undefined;
  readonly nowMs: number;
}

/** The manager does not own metadata if its configuration contains only identifying metadata. */
const withoutBareMetadata = ({ 'f:metadata': metadata = {}, ...rest }: FieldSet): FieldSet =>
  isEmptySet(metadata) ? rest : { ...rest, 'f:metadata': metadata };

/**
 * Applies a manager's configuration to the live object, or returns the object to create.
 *
 * @throws StatusError 409 if a changed field has another manager and `force` is not set
 */
export function applyPatch(live: ApiObject | undefined, applied: Json, shape: Shape, options: ApplyOptions): ApiObject {
  const { force, ...rest } = options;
  const writer: Writer = { ...rest, operation: 'Apply' };
  const entries = entriesOf(live);
  const others = entries.filter((entry) => !isEntryOf(writer, entry));
  const own = entries.find((entry) => isEntryOf(writer, entry));
  const fields = withoutBareMetadata(fieldsOf(manageable(applied), shape));
  // Fields remain if the manager still declares a part of them, including parts without a manager.
  const dropped = difference(own?.fieldsV1 ?? {}, withContainers(fields));
  // A manager of a part also owns the containers of this part.
  const removable = others.reduce((set, other) => difference(set, withContainers(other.fieldsV1)), dropped);
  const base = live && !isEmptySet(removable) ? removeFields(live, removable, shape) : live;
  const merged = clone(mergeApplied(base ?? {}, applied, shape)) as ApiObject;
  const { changed, removed } = compare(live ? manageable(live) : {}, manageable(merged), shape);
  if (live && !force) checkConflicts(changed, others);
  const lost = union(changed, removed);
  const kept = others.map((other) => ({ ...other, fieldsV1: difference(other.fieldsV1, lost) }));
  merged.metadata.managedFields = [...sortEntries([...kept, entryFor(writer, merged.apiVersion, fields, own)])];
  return merged;
}
