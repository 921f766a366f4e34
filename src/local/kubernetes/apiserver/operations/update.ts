/** Replacement of objects: optimistic locking, immutable fields, generations, and the removal of finalized objects. */

import { timestamp } from '#lib';
import { podAfterResize } from '../admission/pod-resize.ts';
import { checkPolicies } from '../admission/policies.ts';
import type { Core, WriteOptions } from '../core.ts';
import { type ApiObject, at, clone, equal, type Json, type Metadata, record } from '../json.ts';
import { afterUpdate, managerEntries, type Writer } from '../patch/managers.ts';
import { shapeOf } from '../patch/shapes.ts';
import { establish } from '../resources/crds.ts';
import type { Resource } from '../resources/registry.ts';
import { badRequest, conflict, fieldForbidden, invalid, invalidValue, MODIFIED, notFound } from '../status.ts';
import { StoredEntry } from '../storage/entry.ts';
import { readObject, toStored, validate, validateResize, withDefaults } from './incoming.ts';

/** Identifies an object of a resource. */
export interface Target {
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** @throws StatusError 404 */
export function read(core: Core, { resource, namespace, name }: Target): StoredEntry {
  const entry = core.store.get(resource.storage, namespace, name);
  if (!entry) throw notFound(resource, name);
  return entry;
}

/**
 * Replaces an object by the object in a request.
 *
 * @param strictly see readObject
 * @throws StatusError 400, 404, 409 or 422
 */
export function update(
  core: Core,
  target: Target,
  body: unknown,
  options: WriteOptions = {},
  strictly?: (problem: string) => Error,
): StoredEntry {
  const { resource } = target;
  const existing = read(core, target);
  const old = existing.in(resource);
  // a status update does not change parts that it shares with the stored object
  const known = options.subresource === 'status' ? old : undefined;
  const sent = readObject(resource, body, options, strictly, known);
  checkIdentity(target, sent, existing.object.metadata);
  const next =
    resource.model === undefined ? customNext(resource, sent, old, options) : builtinNext(resource, sent, old, options);
  const part = options.subresource === 'status' ? 'status' : undefined;
  const object = withDefaults(resource, next, part);
  checkFinalizers(resource, object, old);
  if (options.subresource === 'resize') validateResize(resource, object, old);
  else validate(resource, object, old, part);
  if (resource.storage === 'persistentvolumes') stampPhase(object, old, core.clock.now());
  establish(resource, object, core.clock.now());
  noteManager(core, resource, object, old, options);
  if (options.writtenAs !== 'scale') checkPolicies(core, { ...options, resource, operation: 'UPDATE', object, old });
  return commit(core, resource, existing, toStored(resource, object), options.dryRun === true);
}

/** Sets the manager of fields that differ from the old object, in place. */
export function noteManager(
  core: Core,
  resource: Resource,
  object: ApiObject,
  old: Json,
  { fieldManager, subresource, writtenAs = subresource }: WriteOptions,
): void {
  if (fieldManager === undefined) return;
  // The status has no manager if it is part of a create, or of an update of the object itself.
  const next = subresource === undefined && resource.status ? { ...object, status: old.status } : object;
  const writer: Writer = {
    manager: fieldManager,
    operation: 'Update',
    subresource: writtenAs,
    nowMs: core.clock.now(),
  };
  const entries = afterUpdate(old, next, shapeOf(resource), managerEntries(object), writer);
  if (entries.length > 0) object.metadata.managedFields = [...entries];
  else delete object.metadata.managedFields;
}

/** Sets the time of a volume's phase if the phase changed, in place. */
export function stampPhase(volume: ApiObject, old: ApiObject | undefined, nowMs: number): void {
  const status = record(volume.status);
  if (status.phase === undefined || (old && status.phase === at(old, 'status', 'phase'))) return;
  volume.status = { ...status, lastPhaseTransitionTime: timestamp(nowMs) };
}

/**
 * Stores the successor of an entry. Does nothing if it is equal. Removes the entry if its deletion is complete and its
 * last finalizer was removed. The object must be new, and in the stored version.
 */
export function commit(
  core: Core,
  resource: Resource,
  existing: StoredEntry,
  object: ApiObject,
  dryRun = false,
): StoredEntry {
  const before = existing.object;
  if (
    equal(
      { ...object, metadata: { ...object.metadata, resourceVersion: '' } },
      { ...before, metadata: { ...before.metadata, resourceVersion: '' } },
    )
  ) {
    return existing;
  }
  if (before.metadata.generation !== undefined) {
    // the start of a deletion increments the generation
    const deleted = object.metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined;
    const changed = deleted || !equal(specOf(resource, object), specOf(resource, before));
    object.metadata.generation = before.metadata.generation + (changed ? 1 : 0);
  }
  if (dryRun) return new StoredEntry(existing.key, object, existing.revision);
  if (isFinished(resource, object)) {
    core.store.remove(resource.storage, existing);
    return new StoredEntry(existing.key, object, core.store.revision);
  }
  return core.store.put(resource.storage, object);
}

/** Reports whether a deleted object has no more grace period and no finalizers. */
function isFinished(resource: Resource, object: ApiObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || finalizers.length > 0 || deletionGracePeriodSeconds > 0) return false;
  if (resource.storage !== 'namespaces') return true;
  const spec = object.spec as { finalizers?: readonly string[] } | undefined;
  return (spec?.finalizers ?? []).length === 0;
}

/** Returns the fields that generations count: all except metadata and, if it is a subresource, status. */
function specOf(resource: Resource, object: ApiObject): Json {
  const { metadata: _metadata, apiVersion: _apiVersion, ...rest } = object;
  if (!resource.status) return rest;
  const { status: _status, ...spec } = rest;
  // Binding a pod does not increment its generation.
  return resource.storage === 'pods' ? { ...spec, spec: { ...record(spec.spec), nodeName: undefined } } : spec;
}

function checkIdentity({ resource, namespace, name }: Target, { metadata: sent }: ApiObject, current: Metadata): void {
  if (sent.name && sent.name !== name) {
    throw badRequest(`the name of the object (${sent.name}) does not match the name on the URL (${name})`);
  }
  if (sent.namespace && sent.namespace !== namespace) {
    throw badRequest(
      `the namespace of the object (${sent.namespace}) does not match the namespace on the request (${namespace ?? ''})`,
    );
  }
  if (sent.uid && sent.uid !== current.uid) {
    throw conflict(
      resource,
      name,
      `Precondition failed: UID in precondition: ${sent.uid}, UID in object meta: ${current.uid ?? ''}`,
    );
  }
  if (!sent.resourceVersion && resource.model === undefined) {
    throw invalid(resource, name, [
      {
        ...invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'),
        message: 'Invalid value: 0: must be specified for an update',
      },
    ]);
  }
  if (sent.resourceVersion && sent.resourceVersion !== current.resourceVersion)
    throw conflict(resource, name, MODIFIED);
}

/** Returns the metadata after an update: the client's fields from the new object, all other fields from the old one. */
function nextMetadata(sent: Metadata, old: Metadata): Metadata {
  const { labels, annotations, finalizers, ownerReferences, managedFields, ...own } = old;
  const kept = sent.managedFields ?? managedFields;
  return {
    ...own,
    ...(sent.labels && { labels: sent.labels }),
    ...(sent.annotations && { annotations: sent.annotations }),
    ...(sent.finalizers && sent.finalizers.length > 0 && { finalizers: sent.finalizers }),
    ...(sent.ownerReferences && sent.ownerReferences.length > 0 && { ownerReferences: sent.ownerReferences }),
    ...(kept && kept.length > 0 && { managedFields: kept }),
  };
}

const withStatus = (object: ApiObject, status: unknown): ApiObject => {
  const { status: _status, ...rest } = object;
  return (status === undefined ? rest : { ...rest, status }) as ApiObject;
};

function customNext(resource: Resource, sent: ApiObject, old: ApiObject, options: WriteOptions): ApiObject {
  if (options.subresource === 'status') {
    const managedFields = sent.metadata.managedFields ?? old.metadata.managedFields;
    const metadata = { ...old.metadata, ...(managedFields && { managedFields }) };
    return withStatus({ ...old, metadata }, sent.status);
  }
  const next = { ...sent, metadata: nextMetadata(sent.metadata, old.metadata) };
  return resource.status ? withStatus(next, clone(old.status)) : next;
}

/** Status updates of built-in kinds may also change labels and annotations, but not owners. */
function builtinNext(resource: Resource, sent: ApiObject, old: ApiObject, options: WriteOptions): ApiObject {
  const metadata = nextMetadata(sent.metadata, old.metadata);
  if (options.subresource === 'status') {
    return withStatus({ ...old, metadata }, clone(sent.status));
  }
  if (options.subresource === 'resize') return { ...podAfterResize(sent, old), metadata };
  const next = { ...sent, metadata };
  if (resource.storage === 'pods') keepPodFields(next, old);
  if (resource.storage === 'services') keepServiceFields(next, old);
  return resource.status ? withStatus(next, clone(old.status)) : next;
}

/** Keeps fields that admission added, because clients replace pods by manifests without these fields. */
function keepPodFields(next: ApiObject, old: ApiObject): void {
  const before = (old.spec ?? {}) as Json;
  const spec = { ...((next.spec ?? {}) as Json) };
  for (const field of [
    'priority',
    'preemptionPolicy',
    'nodeName',
    'serviceAccountName',
    'serviceAccount',
    'tolerations',
  ]) {
    if (spec[field] === undefined && before[field] !== undefined) spec[field] = clone(before[field]);
  }
  next.spec = spec;
}

function keepServiceFields(next: ApiObject, old: ApiObject): void {
  const before = (old.spec ?? {}) as Json;
  const spec = { ...((next.spec ?? {}) as Json) };
  for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) {
    if (spec[field] === undefined && before[field] !== undefined) spec[field] = clone(before[field]);
  }
  next.spec = spec;
}

function checkFinalizers(resource: Resource, { metadata }: ApiObject, old: ApiObject): void {
  if (old.metadata.deletionTimestamp === undefined) return;
  const held = old.metadata.finalizers ?? [];
  const added = (metadata.finalizers ?? []).filter((finalizer) => !held.includes(finalizer));
  if (added.length === 0) return;
  const named = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
  throw invalid(resource, metadata.name, [
    fieldForbidden(
      'metadata.finalizers',
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${named}}`,
    ),
  ]);
}
