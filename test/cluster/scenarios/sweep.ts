/** Takes everything out of a cluster that a scenario may have left in it, so that the next finds it as if it were new. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CAPACITY_BUFFER,
  CONFIG_MAP,
  CSI_NODE,
  DAEMON_SET,
  DEPLOYMENT,
  EC2_NODE_CLASS,
  EVENT,
  type Kind,
  LEASE,
  NODE,
  NODE_CLAIM,
  NODE_OVERLAY,
  NODE_POOL,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  POD_DISRUPTION_BUDGET,
  REPLICA_SET,
  STATEFUL_SET,
  VOLUME_ATTACHMENT,
} from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/kubernetes.ts';
import { ApiError, isConflict, isGone, type KubeApi } from '../../support/kube-api.ts';
import { NAMESPACE } from '../harness/installation.ts';

/** Owners before what they would make anew; events last, because the others' end makes more. */
const KINDS: readonly Kind[] = [
  CAPACITY_BUFFER,
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
  LEASE,
  CONFIG_MAP,
  EVENT,
];
const LIMIT_MS = 60_000;
const PAUSE_MS = 100;

/** What the chart and Kubernetes themselves put there. */
const stays = ({ kind, metadata: { name, namespace } }: KubeObject): boolean =>
  (kind === 'ConfigMap' && !['karpenter-history', 'karpenter-spot-risk'].includes(name)) ||
  (kind === 'Lease' && namespace === NAMESPACE && name !== 'karpenter-leader-election') ||
  (['Deployment', 'ReplicaSet', 'PodDisruptionBudget'].includes(kind) && namespace === NAMESPACE);

/** @throws Error that names what does not go */
export async function sweep(kube: KubeApi): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const left = await sweepOnce(kube);
    if (left.length === 0) return;
    if (performance.now() > deadline) throw new Error(`Cannot clean up after a scenario: ${left.join(', ')} stay`);
    await sleep(PAUSE_MS);
  }
}

/** Answers what was still there. */
async function sweepOnce(kube: KubeApi): Promise<readonly string[]> {
  const left: string[] = [];
  for (const kind of KINDS) {
    const found = await listed(kube, kind);
    if (found === undefined) left.push(`${kind.kind}?`);
    const items = (found ?? []).filter((object) => !stays(object));
    await Promise.all(items.map((object) => remove(kube, kind, object)));
    left.push(...items.map(({ metadata }) => `${kind.kind} ${metadata.name}`));
  }
  return left;
}

/** Undefined while the server is not ready to tell: it sets up a custom kind with the first request for it. */
async function listed(kube: KubeApi, kind: Kind): Promise<readonly KubeObject[] | undefined> {
  try {
    return (await kube.list(kind)).items;
  } catch (error) {
    if (error instanceof ApiError && error.status === 429) return undefined;
    throw error;
  }
}

/** At once, without waiting for whoever would do something first: nobody is there any more. */
async function remove(kube: KubeApi, kind: Kind, { metadata }: KubeObject): Promise<void> {
  try {
    if (metadata.finalizers?.length) await kube.patch(kind, metadata, { metadata: { finalizers: null } });
    await kube.delete(kind, metadata, { gracePeriodSeconds: 0 });
  } catch (error) {
    if (!isGone(error) && !isConflict(error)) throw error;
  }
}
