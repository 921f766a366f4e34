/** Deletes the contents of deleted namespaces and custom resources of deleted definitions, and protects volumes in use. */

import { CLAIMS, FINALIZERS, VOLUMES } from '../admission/volumes.ts';
import type { Core } from '../core.ts';
import { type ApiObject, at, clone, record, records, text } from '../json.ts';
import { create } from '../operations/create.ts';
import { remove } from '../operations/delete.ts';
import { commit } from '../operations/update.ts';
import { CLEANUP, DEFINITIONS } from '../resources/crds.ts';
import type { Resource } from '../resources/registry.ts';
import type { StoredEntry } from '../storage/entry.ts';
import { background } from './background.ts';

const isEnding = (entry: StoredEntry | undefined): entry is StoredEntry =>
  entry?.object.metadata.deletionTimestamp !== undefined;

/** Starts the cleaner. Returns a function that stops it. */
export function cleanUp(core: Core): () => void {
  const namespaces = background('namespace cleanup', (name) => {
    const entry = core.store.get('namespaces', undefined, name);
    if (isEnding(entry)) endNamespace(core, entry);
    else if (entry) addServiceAccount(core, name);
  });
  const definitions = background('definition cleanup', (name) => {
    const entry = core.store.get(DEFINITIONS, undefined, name);
    if (isEnding(entry)) endDefinition(core, entry);
  });
  const unsubscribe = core.store.subscribe(({ type, entry }, storage) => {
    const { name, namespace } = entry.object.metadata;
    if (storage === 'namespaces') namespaces.add(name);
    if (storage === DEFINITIONS) definitions.add(name);
    if (type !== 'DELETED') return;
    if (namespace !== undefined) namespaces.add(namespace);
    definitions.add(storage);
  });
  return () => {
    unsubscribe();
    namespaces.stop();
    definitions.stop();
  };
}

/** Creates the service account that pods in the namespace use by default. */
function addServiceAccount(core: Core, namespace: string): void {
  const resource = core.registry.stored('serviceaccounts');
  if (!resource || core.store.get('serviceaccounts', namespace, 'default')) return;
  create(core, resource, namespace, { metadata: { name: 'default' } });
}

/** Deletes all objects that are not already being deleted. Returns the number of remaining objects. */
function empty(core: Core, resource: Resource, namespace?: string): number {
  for (const { object } of core.store.list(resource.storage, namespace)) {
    if (object.metadata.deletionTimestamp !== undefined) continue;
    remove(core, { resource, namespace: object.metadata.namespace, name: object.metadata.name });
  }
  return core.store.list(resource.storage, namespace).length;
}

function endNamespace(core: Core, entry: StoredEntry): void {
  const { name } = entry.object.metadata;
  const storages = new Set(
    core.registry
      .all()
      .filter((r) => r.namespaced)
      .map((r) => r.storage),
  );
  let left = 0;
  for (const storage of storages) {
    const resource = core.registry.stored(storage);
    if (resource) left += empty(core, resource, name);
  }
  const resource = core.registry.stored('namespaces');
  if (left > 0 || !resource) return;
  const next = clone(entry.object);
  next.spec = { ...record(next.spec), finalizers: [] };
  commit(core, resource, entry, next);
}

function endDefinition(core: Core, entry: StoredEntry): void {
  const { name, finalizers = [] } = entry.object.metadata;
  const custom = core.registry.stored(name);
  if (custom && empty(core, custom) > 0) return;
  const resource = core.registry.stored(DEFINITIONS);
  if (!resource || !finalizers.includes(CLEANUP)) return;
  const next = clone(entry.object);
  next.metadata.finalizers = finalizers.filter((finalizer) => finalizer !== CLEANUP);
  commit(core, resource, entry, next);
}

/** Returns the claims of a pod's volumes, including claims of ephemeral volumes. */
const claimsOf = (pod: ApiObject): readonly string[] =>
  records(at(pod, 'spec', 'volumes')).flatMap((volume) => {
    if (volume.ephemeral !== undefined) return [`${pod.metadata.name}-${text(volume.name)}`];
    return text(at(volume, 'persistentVolumeClaim', 'claimName')) || [];
  });

const isFinished = (pod: ApiObject): boolean => ['Succeeded', 'Failed'].includes(text(at(pod, 'status', 'phase')));

/** Delays the deletion of volumes and claims until they are no longer in use. Returns a function that stops it. */
export function protectVolumes(core: Core): () => void {
  const queue = background('volume protection', (key) => {
    const [storage = '', place = ''] = key.split(' ');
    const entry = core.store.at({ storage, key: place });
    if (entry?.object.metadata.deletionTimestamp !== undefined && !isUsed(core, storage, entry))
      release(core, storage, entry);
  });
  const unsubscribe = core.store.subscribe(({ type, entry }, storage) => {
    const { object } = entry;
    if (Object.hasOwn(FINALIZERS, storage) && object.metadata.deletionTimestamp !== undefined)
      queue.add(`${storage} ${entry.key}`);
    if (storage !== 'pods' || !(type === 'DELETED' || isFinished(object))) return;
    for (const claim of claimsOf(object)) queue.add(`${CLAIMS} ${object.metadata.namespace ?? ''}/${claim}`);
  });
  return () => {
    unsubscribe();
    queue.stop();
  };
}

function isUsed(core: Core, storage: string, { object }: StoredEntry): boolean {
  if (storage === VOLUMES) return at(object, 'status', 'phase') === 'Bound';
  const { name, namespace } = object.metadata;
  return core.store.list('pods', namespace).some(({ object: pod }) => !isFinished(pod) && claimsOf(pod).includes(name));
}

function release(core: Core, storage: string, entry: StoredEntry): void {
  const resource = core.registry.stored(storage);
  const held = entry.object.metadata.finalizers ?? [];
  const rest = held.filter((finalizer) => finalizer !== FINALIZERS[storage]);
  if (!resource || rest.length === held.length) return;
  const next = clone(entry.object);
  next.metadata.finalizers = rest;
  commit(core, resource, entry, next);
}
