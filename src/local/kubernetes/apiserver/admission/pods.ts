/** Admission that reads other objects: the pod's priority from its class, and the storage class of claims. */
import { own } from '#lib';
import type { ApiObject } from '../json.ts';
import { record, text } from '../json.ts';
import { forbidden } from '../status.ts';
import type { ObjectStore } from '../storage/store.ts';

const PODS = { group: '', plural: 'pods', kind: 'Pod' };

/**
 * Sets the pod's priority from its class, or from the global default class, in place.
 *
 * @throws StatusError 403 if the class does not exist
 */
export function admitPriority(pod: ApiObject, store: ObjectStore): void {
  const spec = record(pod.spec);
  const name = text(spec.priorityClassName);
  const storage = 'priorityclasses.scheduling.k8s.io';
  const chosen =
    name === ''
      ? store.list(storage).find(({ object }) => object.globalDefault === true)
      : store.get(storage, undefined, name);
  if (name !== '' && !chosen) {
    throw forbidden(PODS, pod.metadata.name, `no PriorityClass with name ${name} was found`);
  }
  if (chosen) spec.priorityClassName = chosen.object.metadata.name;
  spec.priority = chosen?.object.value ?? 0;
  spec.preemptionPolicy = chosen?.object.preemptionPolicy ?? 'PreemptLowerPriority';
}

const TOPOLOGY = ['topology.kubernetes.io/region', 'topology.kubernetes.io/zone'];

/**
 * Returns the pod's labels with the topology labels of its node. Returns undefined if the node has no topology labels.
 */
export function topologyLabels(pod: ApiObject, node: string, store: ObjectStore): Record<string, string> | undefined {
  const labels = node === '' ? undefined : store.get('nodes', undefined, node)?.object.metadata.labels;
  const found = TOPOLOGY.flatMap((key): [string, string][] =>
    own(labels, key) ? [[key, own(labels, key) ?? '']] : [],
  );
  return found.length === 0 ? undefined : { ...pod.metadata.labels, ...Object.fromEntries(found) };
}

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

/** Sets the default storage class of a claim without a storage class, in place. */
export function admitStorageClass(claim: ApiObject, store: ObjectStore): void {
  const spec = record(claim.spec);
  if (spec.storageClassName !== undefined) return;
  const standard = store
    .list('storageclasses.storage.k8s.io')
    .find(({ object }) => object.metadata.annotations?.[DEFAULT_CLASS] === 'true');
  if (standard) spec.storageClassName = standard.object.metadata.name;
}
