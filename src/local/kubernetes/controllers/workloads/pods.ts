/** Pods of workload controllers: creation from templates, counting and deletion. */
import { createHash } from 'node:crypto';
import {
  type ContainerStatus,
  getCondition,
  isTrue,
  type KubeObject,
  POD,
  type Pod,
  type PodTemplateSpec,
} from '#api/objects';
import { canonicalJson } from '#lib';
import { isAnyConflict, isGone } from '../../../client.ts';
import { controllerUid, ownerReference } from '../../../owner-references.ts';
import type { Parts } from '../../../parts.ts';
import { isOver } from '../../scheduler/cluster.ts';

/** Index of pods by the name of their node. */
export const nodeNameOf = (pod: Pod): string | undefined => pod.spec.nodeName;

/** Returns the pods of an owner, by namespace and controller reference. */
export const ownedPods = ({ caches }: Parts, owner: KubeObject): readonly Pod[] =>
  caches
    .of(POD)
    .by(controllerUid, owner.metadata.uid ?? '')
    .filter((pod) => pod.metadata.namespace === owner.metadata.namespace);

/** Reports whether a pod is neither finished nor being deleted. Only such pods count as replicas. */
export const isPodActive = (pod: Pod): boolean => !isOver(pod) && pod.metadata.deletionTimestamp === undefined;

export const isPodReady = (pod: Pod): boolean => isTrue(pod, 'Ready');

/** Returns the time at which a pod has been ready for minReadySeconds, or undefined if it is not ready. */
export function availableAt(pod: Pod, minReadySeconds = 0): number | undefined {
  if (!isPodReady(pod)) return undefined;
  if (minReadySeconds === 0) return 0;
  return Date.parse(getCondition(pod, 'Ready')?.lastTransitionTime ?? '') + minReadySeconds * 1000;
}

export const isAvailable = (pod: Pod, now: number, minReadySeconds = 0): boolean =>
  (availableAt(pod, minReadySeconds) ?? Number.POSITIVE_INFINITY) <= now;

/** Returns the number of restarts of each container. The operator does not read this field. */
export const restartsOf = (statuses: readonly (ContainerStatus & { readonly restartCount?: number })[] = []) =>
  statuses.map(({ restartCount = 0 }) => restartCount);

/** Returns a short hash of a JSON value, for names and labels. The order of keys does not matter. */
export function hashOf(value: object): string {
  const known = hashes.get(value);
  if (known !== undefined) return known;
  const hash = createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 10);
  hashes.set(value, hash);
  return hash;
}

/** Cache of hashes. Templates are read much more often than they change, and they are never changed in place. */
const hashes = new WeakMap<object, string>();

/**
 * Returns a pod from a template, owned by `owner`. Without a name or prefix, the pod's name is derived from its owner.
 */
export function podOf(template: PodTemplateSpec, owner: KubeObject, named: { readonly name?: string } = {}): Pod {
  const { labels, annotations } = template.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: named.name ?? '',
      ...(named.name === undefined ? { generateName: `${owner.metadata.name}-` } : {}),
      namespace: owner.metadata.namespace ?? 'default',
      ...(labels ? { labels } : {}),
      ...(annotations ? { annotations } : {}),
      ...(template.metadata?.finalizers ? { finalizers: template.metadata.finalizers } : {}),
      ownerReferences: [ownerReference(owner)],
    },
    spec: template.spec,
  };
}

export async function createPod({ client, caches }: Parts, pod: Pod): Promise<void> {
  caches.of(POD).wrote(await client.create(POD, pod));
}

/** Deletes a pod, gracefully by default. Ignores pods that are already gone. */
export async function deletePod({ client, caches }: Parts, pod: Pod, gracePeriodSeconds?: number): Promise<void> {
  try {
    const options = { uid: pod.metadata.uid, ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }) };
    const left = await client.delete(POD, pod.metadata, options);
    const isHeld = (left?.metadata.deletionGracePeriodSeconds ?? 0) > 0 || Boolean(left?.metadata.finalizers?.length);
    if (left && isHeld) caches.of(POD).wrote(left);
    else caches.of(POD).removed(pod);
  } catch (error) {
    if (!isGone(error) && !isAnyConflict(error)) throw error;
  }
}
