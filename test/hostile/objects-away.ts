/** Removes objects of any kind from a cluster. */
import {
  CAPACITY_BUFFER,
  CSI_NODE,
  DAEMON_SET,
  DEPLOYMENT,
  EC2_NODE_CLASS,
  EVENT,
  type Kind,
  type KubeObject,
  LEASE,
  NAMESPACE,
  NODE,
  NODE_CLAIM,
  NODE_OVERLAY,
  NODE_POLICY,
  NODE_POOL,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  POD_DISRUPTION_BUDGET,
  POD_TEMPLATE,
  REPLICA_SET,
  RESOURCE_CLAIM,
  RESOURCE_SLICE,
  SERVICE,
  STATEFUL_SET,
  STORAGE_CLASS,
  VOLUME_ATTACHMENT,
} from '#api/objects';
import type { World } from '#local/world';
import { collectionPath, connect, isAnyConflict, isGone, type KubeApi } from '../support/kube-api.ts';

const PRIORITY_CLASS: Kind = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  namespaced: false,
};

const DEVICE_CLASS: Kind = {
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'DeviceClass',
  plural: 'deviceclasses',
  namespaced: false,
};

/** Kinds in the order of their removal: dependencies are removed last. */
export const KINDS: readonly Kind[] = [
  DEPLOYMENT,
  REPLICA_SET,
  STATEFUL_SET,
  DAEMON_SET,
  CAPACITY_BUFFER,
  POD,
  POD_TEMPLATE,
  POD_DISRUPTION_BUDGET,
  NODE_CLAIM,
  NODE,
  NODE_OVERLAY,
  NODE_POLICY,
  NODE_POOL,
  EC2_NODE_CLASS,
  PERSISTENT_VOLUME_CLAIM,
  PERSISTENT_VOLUME,
  STORAGE_CLASS,
  CSI_NODE,
  VOLUME_ATTACHMENT,
  RESOURCE_CLAIM,
  RESOURCE_SLICE,
  DEVICE_CLASS,
  SERVICE,
  LEASE,
  EVENT,
  PRIORITY_CLASS,
  NAMESPACE,
];
export const kindOf = ({ kind }: KubeObject): Kind => {
  const found = KINDS.find((candidate) => candidate.kind === kind);
  if (found === undefined) throw new Error(`unknown kind ${kind}`);
  return found;
};

export async function removeOne(kube: KubeApi, kind: Kind, { metadata }: KubeObject): Promise<void> {
  const { name, namespace } = metadata;
  try {
    await kube.delete(kind, { name, namespace }, kind === POD ? { gracePeriodSeconds: 0 } : {});
  } catch (error) {
    if (!isGone(error) && !isAnyConflict(error)) throw error;
  }
}

/** Returns the UIDs of the present objects. */
export async function present(kube: KubeApi): Promise<ReadonlySet<string>> {
  const lists = await Promise.all(KINDS.map((kind) => kube.list(kind)));
  return new Set(lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.uid ?? '')));
}

/** Removes all objects except resident ones without their finalizers, and terminates all instances. */
export async function empty({ kube, aws }: World, resident: ReadonlySet<string>): Promise<void> {
  const client = connect(kube.url);
  for (const { id, state } of aws.instances.list())
    if (state === 'running' || state === 'pending') aws.faults.terminate(id);
  for (const kind of KINDS) {
    const ours = (await client.list(kind)).items.filter(({ metadata }) => !resident.has(metadata.uid ?? ''));
    await Promise.all(ours.map((object) => forceAway(client, kind, object)));
  }
}

async function forceAway(kube: KubeApi, kind: Kind, { metadata }: KubeObject): Promise<void> {
  const path = `${collectionPath(kind, metadata.namespace)}/${encodeURIComponent(metadata.name)}`;
  try {
    await kube.raw('PATCH', path, { metadata: { finalizers: null } }, 'application/merge-patch+json');
    await kube.raw('DELETE', `${path}?gracePeriodSeconds=0`);
  } catch (error) {
    if (!isGone(error) && !isAnyConflict(error)) throw error;
  }
}
