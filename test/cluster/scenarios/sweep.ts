/** Deletes all objects that a test may have left in the cluster, so that the next test starts clean. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CAPACITY_BUFFER,
  CAPACITY_QUOTA,
  CONFIG_MAP,
  type ConfigMap,
  CSI_NODE,
  DAEMON_SET,
  DEPLOYMENT,
  DEVICE_CLASS,
  EC2_NODE_CLASS,
  type Kind,
  type KubeObject,
  LEASE,
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
  PROVISIONING_REQUEST,
  REPLICA_SET,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  RESOURCE_SLICE,
  STATEFUL_SET,
  VOLUME_ATTACHMENT,
} from '#api/objects';
import { DOCUMENT_LABEL } from '#kube/testing';
import { ApiError, isAnyConflict, isGone, type KubeApi } from '../../support/kube-api.ts';
import { askEtcd, base64 } from '../harness/etcd.ts';
import { type Installation, NAMESPACE } from '../harness/installation.ts';

/** Owners before their dependents, which would otherwise be recreated. */
const KINDS: readonly Kind[] = [
  PROVISIONING_REQUEST,
  CAPACITY_BUFFER,
  CAPACITY_QUOTA,
  NODE_POLICY,
  POD_TEMPLATE,
  NODE_POOL,
  NODE_OVERLAY,
  DEPLOYMENT,
  DAEMON_SET,
  STATEFUL_SET,
  REPLICA_SET,
  POD_DISRUPTION_BUDGET,
  POD,
  NODE_CLAIM,
  NODE,
  EC2_NODE_CLASS,
  VOLUME_ATTACHMENT,
  PERSISTENT_VOLUME_CLAIM,
  PERSISTENT_VOLUME,
  CSI_NODE,
  RESOURCE_CLAIM_TEMPLATE,
  RESOURCE_CLAIM,
  RESOURCE_SLICE,
  DEVICE_CLASS,
  LEASE,
  CONFIG_MAP,
];
const LIMIT_MS = 60_000;
const PAUSE_MS = 200;

const SCENARIO_MAPS: readonly string[] = ['devices', 'mig-devices'];

/** Objects of the chart and of Kubernetes itself. */
const stays = ({ kind, metadata: { name, namespace } }: KubeObject): boolean =>
  (kind === 'ConfigMap' && !SCENARIO_MAPS.includes(name)) ||
  (kind === 'Lease' && namespace === NAMESPACE && name !== 'karpenter-leader-election') ||
  (['Deployment', 'ReplicaSet', 'PodDisruptionBudget'].includes(kind) && namespace === NAMESPACE);

const isWritten = ({ metadata: { labels }, binaryData }: ConfigMap): boolean =>
  labels?.[DOCUMENT_LABEL] !== undefined && binaryData !== undefined;

/** @throws Error that names objects that cannot be deleted */
export async function sweep({ kube, plane }: Pick<Installation, 'kube' | 'plane'>): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  for (let kinds = KINDS; ; ) {
    const left = await sweepOnce(kube, kinds);
    if (left.size === 0) break;
    const names = [...left.values()].flat();
    if (performance.now() > deadline) throw new Error(`Cannot clean up after a test: ${names.join(', ')} stay`);
    kinds = kinds.filter((kind) => left.has(kind));
    await sleep(PAUSE_MS);
  }
  // the chart creates the operator's documents, and the operator may not
  const documents = ((await kube.list(CONFIG_MAP)).items as readonly ConfigMap[]).filter(isWritten);
  for (const { metadata } of documents) await kube.patch(CONFIG_MAP, metadata, { binaryData: null });
  // A test has hundreds of events, of which each deletion would be a request to the API server.
  await askEtcd(plane, '/v3/kv/deleterange', {
    key: base64('/registry/events/'),
    range_end: base64('/registry/events0'),
  });
}

/** Deletes all objects of these kinds, and returns the names of the remaining ones. */
async function sweepOnce(kube: KubeApi, kinds: readonly Kind[]): Promise<ReadonlyMap<Kind, readonly string[]>> {
  const left = new Map<Kind, readonly string[]>();
  for (const kind of kinds) {
    const found = await listed(kube, kind);
    if (found === undefined) left.set(kind, [`${kind.kind}?`]);
    const items = (found ?? []).filter((object) => !stays(object));
    await Promise.all(items.map((object) => remove(kube, kind, object)));
    if (items.length > 0)
      left.set(
        kind,
        items.map(({ metadata }) => `${kind.kind} ${metadata.name}`),
      );
  }
  return left;
}

/** Undefined while the server is not ready: it sets up a custom kind on the first request. Older servers lack some kinds. */
async function listed(kube: KubeApi, kind: Kind): Promise<readonly KubeObject[] | undefined> {
  try {
    return (await kube.list(kind)).items;
  } catch (error) {
    if (error instanceof ApiError && error.status === 429) return undefined;
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
}

/** Deletes immediately without finalizers, because no controller is left to remove them. */
async function remove(kube: KubeApi, kind: Kind, { metadata }: KubeObject): Promise<void> {
  try {
    if (metadata.finalizers?.length) await kube.patch(kind, metadata, { metadata: { finalizers: null } });
    await kube.delete(kind, metadata, { gracePeriodSeconds: 0 });
  } catch (error) {
    if (!isGone(error) && !isAnyConflict(error)) throw error;
  }
}
