/** Server-side apply: a manager states the fields it wants; what it stated before and states no more goes away. */
import { type ApiObject, clone, type Json } from '../json.ts';
import type { Shape } from '../resources/shape.ts';
import { difference, type FieldSet, isEmptySet, union, withContainers } from './field-set.ts';
import { compare, fieldsOf, mergeApplied, removeFields } from './fields.ts';
import { checkConflicts, entriesOf, entryFor, isEntryOf, manageable, sorted, type Writer } from './managers.ts';

export interface ApplyOptions {
  readonly manager: string;
  readonly force: boolean;
  readonly subresource?: string | undefined;
  readonly nowMs: number;
}

/** What is said of the metadata may be no more than what the object is called. */
const withoutBareMetadata = ({ 'f:metadata': metadata = {}, ...rest }: FieldSet): FieldSet =>
  isEmptySet(metadata) ? rest : { ...rest, 'f:metadata': metadata };

/**
 * Applies a manager's configuration to the live object, or makes the object that is to be created.
 *
 * @throws StatusError 409 when it would change a field that another manages, and `force` is not set
 */
export function applyPatch(live: ApiObject | undefined, applied: Json, shape: Shape, options: ApplyOptions): ApiObject {
  const { force, ...rest } = options;
  const writer: Writer = { ...rest, operation: 'Apply' };
  const entries = entriesOf(live);
  const others = entries.filter((entry) => !isEntryOf(writer, entry));
  const own = entries.find((entry) => isEntryOf(writer, entry));
  const fields = withoutBareMetadata(fieldsOf(manageable(applied), shape));
  // What it stated a part of stays, with whatever nobody manages in it.
  const dropped = difference(own?.fieldsV1 ?? {}, withContainers(fields));
  // Whoever manages a part holds the whole that it is in.
  const removable = others.reduce((set, other) => difference(set, withContainers(other.fieldsV1)), dropped);
  const base = live && !isEmptySet(removable) ? removeFields(live, removable, shape) : live;
  const merged = clone(mergeApplied(base ?? {}, applied, shape)) as ApiObject;
  const { changed, removed } = compare(live ? manageable(live) : {}, manageable(merged), shape);
  if (live && !force) checkConflicts(changed, others);
  const lost = union(changed, removed);
  const kept = others.map((other) => ({ ...other, fieldsV1: difference(other.fieldsV1, lost) }));
  merged.metadata.managedFields = [...sorted([...kept, entryFor(writer, merged.apiVersion, fields, own)])];
  return merged;
}
