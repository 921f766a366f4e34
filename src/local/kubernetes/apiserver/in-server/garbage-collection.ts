/**
 * Garbage collection by owner references. Owners are identified by UID. Dependents are deleted when their last owner is
 * gone.
 */
import type { Core } from '../core.ts';
import { clone, type Owner } from '../json.ts';
import { FOREGROUND, ORPHAN, remove } from '../operations/delete.ts';
import { commit } from '../operations/update.ts';
import type { StoredEntry } from '../storage/entry.ts';
import type { StoragePlace } from '../storage/store.ts';
import { background } from './background.ts';

const keyOfPlace = ({ storage, key }: StoragePlace): string => `${storage} ${key}`;
function parsePlace(text: string): StoragePlace {
  const space = text.indexOf(' ');
  return { storage: text.slice(0, space), key: text.slice(space + 1) };
}

/** Starts the collector. Returns a function that stops it. */
export function collectGarbage(core: Core): () => void {
  const queue = background('garbage collector', (key) => {
    const place = parsePlace(key);
    const entry = core.store.at(place);
    if (entry) review(core, place, entry);
  });
  const unsubscribe = core.store.subscribe(({ type, entry }, storage) => {
    const { uid = '', ownerReferences = [], finalizers = [] } = entry.object.metadata;
    const place = { storage, key: entry.key };
    if (type !== 'DELETED') {
      if (ownerReferences.length > 0 || isHeld(finalizers)) queue.add(keyOfPlace(place));
      return;
    }
    for (const dependent of core.store.dependentsOf(uid)) queue.add(keyOfPlace(dependent));
    for (const owner of ownerReferences) {
      const ownerPlace = core.store.placeOf(owner.uid);
      if (ownerPlace) queue.add(keyOfPlace(ownerPlace));
    }
  });
  const review = (c: Core, place: StoragePlace, entry: StoredEntry): void => {
    if (entry.object.metadata.deletionTimestamp !== undefined && isHeld(entry.object.metadata.finalizers ?? [])) {
      release(c, place, entry, (dependent) => queue.add(keyOfPlace(dependent)));
    } else collect(c, place, entry);
  };
  return () => {
    unsubscribe();
    queue.stop();
  };
}

const isHeld = (finalizers: readonly string[]): boolean =>
  finalizers.includes(FOREGROUND) || finalizers.includes(ORPHAN);

const targetOf = (core: Core, { storage }: StoragePlace, { object }: StoredEntry) => {
  const resource = core.registry.stored(storage);
  return resource && { resource, namespace: object.metadata.namespace, name: object.metadata.name };
};

type Verdict = 'present' | 'absent' | 'waiting';

/** Reports whether an owner exists, is gone, or waits for this dependent in its foreground deletion. */
function verdictOn(core: Core, owner: Owner, namespace: string | undefined): Verdict {
  // an owner of an unknown kind cannot be read, and therefore counts as existing
  if (!core.registry.byKind(owner.apiVersion, owner.kind)) return 'present';
  const place = core.store.placeOf(owner.uid);
  const found = place && core.store.at(place)?.object;
  if (!found || found.kind !== owner.kind || found.metadata.name !== owner.name) return 'absent';
  if (found.metadata.namespace !== undefined && found.metadata.namespace !== namespace) return 'absent';
  const { deletionTimestamp, finalizers = [] } = found.metadata;
  return deletionTimestamp !== undefined && finalizers.includes(FOREGROUND) ? 'waiting' : 'present';
}

/** Deletes an object without existing owners. If some owners exist, removes the references to missing owners. */
function collect(core: Core, place: StoragePlace, entry: StoredEntry): void {
  const target = targetOf(core, place, entry);
  const { ownerReferences = [], namespace, uid } = entry.object.metadata;
  if (!target || ownerReferences.length === 0) return;
  const verdicts = ownerReferences.map((owner) => verdictOn(core, owner, namespace));
  if (verdicts.includes('present')) {
    if (verdicts.every((verdict) => verdict === 'present')) return;
    const next = clone(entry.object);
    next.metadata.ownerReferences = ownerReferences.filter((_, i) => verdicts[i] === 'present');
    commit(core, target.resource, entry, next);
    return;
  }
  if (entry.object.metadata.deletionTimestamp !== undefined) return;
  const foreground = verdicts.includes('waiting') && core.store.dependentsOf(uid ?? '').length > 0;
  remove(core, target, { uid, propagationPolicy: foreground ? 'Foreground' : undefined });
}

/** Performs the work of an owner's orphan or foregroundDeletion finalizer, and then removes the finalizer. */
function release(
  core: Core,
  place: StoragePlace,
  entry: StoredEntry,
  enqueue: (dependent: StoragePlace) => void,
): void {
  const target = targetOf(core, place, entry);
  const { uid = '', finalizers = [] } = entry.object.metadata;
  if (!target) return;
  const dependents = core.store.dependentsOf(uid);
  if (finalizers.includes(ORPHAN)) {
    for (const dependent of dependents) disown(core, dependent, uid);
  } else {
    for (const dependent of dependents) enqueue(dependent);
    if (dependents.some((dependent) => blocks(core, dependent, uid))) return;
  }
  const next = clone(entry.object);
  next.metadata.finalizers = finalizers.filter((finalizer) => finalizer !== FOREGROUND && finalizer !== ORPHAN);
  if (next.metadata.finalizers.length === 0) delete next.metadata.finalizers;
  commit(core, target.resource, entry, next);
}

const blocks = (core: Core, dependent: StoragePlace, ownerUid: string): boolean =>
  core.store
    .at(dependent)
    ?.object.metadata.ownerReferences?.some((owner) => owner.uid === ownerUid && owner.blockOwnerDeletion === true) ===
  true;

function disown(core: Core, place: StoragePlace, ownerUid: string): void {
  const entry = core.store.at(place);
  const resource = core.registry.stored(place.storage);
  if (!entry || !resource) return;
  const next = clone(entry.object);
  next.metadata.ownerReferences = (next.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== ownerUid);
  if (next.metadata.ownerReferences.length === 0) delete next.metadata.ownerReferences;
  commit(core, resource, entry, next);
}
