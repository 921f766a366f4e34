/** Deletion of objects: preconditions, grace periods of pods, finalizers and dependents. */
import { timestamp } from '#lib';
import { checkPolicies } from '../admission/policies.ts';
import type { ApiDeleteOptions, Core } from '../core.ts';
import { type ApiObject, at } from '../json.ts';
import { CLEANUP, DEFINITIONS } from '../resources/crds.ts';
import type { Resource } from '../resources/registry.ts';
import { conflict, forbidden, type Subject } from '../status.ts';
import { StoredEntry } from '../storage/entry.ts';
import { commit, read, type Target } from './update.ts';

export const FOREGROUND = 'foregroundDeletion';
export const ORPHAN = 'orphan';

export interface Deletion {
  /** The object after this deletion. */
  readonly entry: StoredEntry;
  /** False while a grace period or finalizers delay the removal. */
  readonly removed: boolean;
}

const PROTECTED_NAMESPACES: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/** Deletes an object. @throws StatusError 403, 404 or 409 */
export function remove(core: Core, target: Target, options: ApiDeleteOptions = {}): Deletion {
  const { resource, name } = target;
  const existing = read(core, target);
  checkPreconditions(resource, existing.object, options);
  if (resource.storage === 'namespaces' && PROTECTED_NAMESPACES.has(name)) {
    throw forbidden(resource, name, 'this namespace may not be deleted');
  }
  checkPolicies(core, { resource, operation: 'DELETE', old: existing.in(resource), dryRun: options.dryRun });
  const next = markDeleted(core, resource, existing.object, options);
  if (!next) return { entry: existing, removed: false };
  const { finalizers = [], deletionGracePeriodSeconds = 0 } = next.metadata;
  const held = finalizers.length > 0 || deletionGracePeriodSeconds > 0 || resource.storage === 'namespaces';
  if (options.dryRun)
    return { entry: held ? new StoredEntry(existing.key, next, existing.revision) : existing, removed: !held };
  if (held) return { entry: commit(core, resource, existing, next), removed: false };
  // Pods and objects that were already being deleted show their final grace period. Other objects are returned
  // unchanged.
  const isGraceful = resource.storage === 'pods' || existing.object.metadata.deletionTimestamp !== undefined;
  const last = isGraceful ? new StoredEntry(existing.key, next, existing.revision) : existing;
  return { entry: core.store.remove(resource.storage, last), removed: true };
}

/** Failed preconditions name the kind. Other conflicts name the resource. */
const byKind = (resource: Resource): Subject => ({ ...resource, plural: resource.kind });

/** @throws StatusError 409 */
export function checkPreconditions(resource: Resource, { metadata }: ApiObject, options: ApiDeleteOptions): void {
  const { uid, resourceVersion } = options;
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      byKind(resource),
      metadata.name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid ?? ''}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      byKind(resource),
      metadata.name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion ?? ''}). The object might have been modified`,
    );
  }
}

/** Returns the grace period in seconds. Only running pods have one. */
function graceOf(resource: Resource, object: ApiObject, options: ApiDeleteOptions): number {
  if (resource.storage !== 'pods') return 0;
  const phase = at(object, 'status', 'phase');
  if (!at(object, 'spec', 'nodeName') || phase === 'Succeeded' || phase === 'Failed') return 0;
  const specified = options.gracePeriodSeconds ?? at(object, 'spec', 'terminationGracePeriodSeconds');
  return typeof specified === 'number' ? Math.max(0, specified) : 30;
}

/** Returns the object with its deletion marks, or undefined if the deletion in progress already has the same marks. */
function markDeleted(
  core: Core,
  resource: Resource,
  object: ApiObject,
  options: ApiDeleteOptions,
): ApiObject | undefined {
  const next: ApiObject = { ...object, metadata: { ...object.metadata } };
  const { metadata } = next;
  const grace = graceOf(resource, object, options);
  const before = object.metadata;
  let changed = updateFinalizers(next, options);
  if (before.deletionTimestamp === undefined) {
    metadata.deletionTimestamp = timestamp(core.clock.now() + grace * 1000);
    if (resource.storage === 'namespaces') next.status = { phase: 'Terminating' };
    else metadata.deletionGracePeriodSeconds = grace;
    if (resource.storage === DEFINITIONS) metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), CLEANUP])];
    changed = true;
  } else {
    const pending = before.deletionGracePeriodSeconds ?? 0;
    const shorter = resource.storage === 'pods' && options.gracePeriodSeconds !== undefined && grace < pending;
    if (shorter) {
      metadata.deletionTimestamp = timestamp(Date.parse(before.deletionTimestamp) - (pending - grace) * 1000);
      metadata.deletionGracePeriodSeconds = grace;
      changed = true;
    }
    // a second delete completes the deletion if no finalizer or grace period remains
    changed ||= grace === 0 && pending === 0;
  }
  return changed ? next : undefined;
}

function updateFinalizers({ metadata }: ApiObject, { propagationPolicy }: ApiDeleteOptions): boolean {
  if (propagationPolicy === undefined) return false;
  const before = metadata.finalizers ?? [];
  const others = before.filter((finalizer) => finalizer !== FOREGROUND && finalizer !== ORPHAN);
  const added = propagationPolicy === 'Foreground' ? [FOREGROUND] : propagationPolicy === 'Orphan' ? [ORPHAN] : [];
  const after = [...others, ...added];
  if (after.length === before.length && after.every((finalizer) => before.includes(finalizer))) return false;
  metadata.finalizers = after;
  if (after.length === 0) delete metadata.finalizers;
  return true;
}
