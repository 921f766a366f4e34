/** Delays the deletion of volumes and claims until they are no longer in use. */

import { CLAIMS, FINALIZERS, VOLUMES } from '../admission/volumes.ts';
import type { Core } from '../core.ts';
import { type ApiObject, at, clone, records, text } from '../json.ts';
import { commit } from '../operations/update.ts';
import type { Entry } from '../storage/entry.ts';
import { background } from './background.ts';

/** Returns the claims of a pod's volumes, including claims of ephemeral volumes. */
const claimsOf = (pod: ApiObject): readonly string[] =>
  records(at(pod, 'spec', 'volumes')).flatMap((volume) => {
    if (volume.ephemeral !== undefined) return [`${pod.metadata.name}-${text(volume.name)}`];
    return text(at(volume, 'persistentVolumeClaim', 'claimName')) || [];
  });

const isFinished = (pod: ApiObject): boolean => ['Succeeded', 'Failed'].includes(text(at(pod, 'status', 'phase')));

/** Starts the protection. Returns a function that stops it. */
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

function isUsed(core: Core, storage: string, { object }: Entry): boolean {
  if (storage === VOLUMES) return at(object, 'status', 'phase') === 'Bound';
  const { name, namespace } = object.metadata;
  return core.store.list('pods', namespace).some(({ object: pod }) => !isFinished(pod) && claimsOf(pod).includes(name));
}

function release(core: Core, storage: string, entry: Entry): void {
  const resource = core.registry.stored(storage);
  const held = entry.object.metadata.finalizers ?? [];
  const rest = held.filter((finalizer) => finalizer !== FINALIZERS[storage]);
  if (!resource || rest.length === held.length) return;
  const next = clone(entry.object);
  next.metadata.finalizers = rest;
  commit(core, resource, entry, next);
}
