/** Deletes pods that no kubelet will terminate: their node is gone, or they are being deleted and were never bound. */
import { NODE, POD } from '../../../api/kinds.ts';
import type { Pod } from '../../../api/kubernetes.ts';
import { keyOf, refOf } from '../../../kube/store.ts';
import { timestamp } from '../../../lib/times.ts';
import { isGone } from '../../client.ts';
import { withConditions } from '../../conditions.ts';
import type { Parts } from '../../parts.ts';
import { isOver } from '../scheduler/cluster.ts';
import { startLoop } from './loop.ts';
import { deletePod, nodeNameOf } from './workloads/pods.ts';

/** Delay after the disappearance of a node, so that a late watch event does not delete pods. */
const QUARANTINE_MS = 5_000;

export async function startPodGc(parts: Parts): Promise<void> {
  const { client, caches, clock } = parts;
  const pods = caches.of(POD);
  const nodes = caches.of(NODE);

  const fail = async (pod: Pod): Promise<void> => {
    const message = 'PodGC: node no longer exists';
    const change = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC', message } as const;
    const conditions = withConditions(pod.status?.conditions, [change], timestamp(clock.now()));
    try {
      const patch = { status: { phase: 'Failed', conditions } };
      await client.patch(POD, pod.metadata, patch, { subresource: 'status', type: 'strategic' });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  };

  const loop = startLoop({
    ...parts,
    name: 'pod garbage',
    async reconcile(key) {
      const pod = pods.get(refOf(key));
      if (!pod) return;
      if (!pod.spec.nodeName) {
        if (pod.metadata.deletionTimestamp) await deletePod(parts, pod, 0);
        return;
      }
      if (nodes.get({ name: pod.spec.nodeName })) return;
      if (await client.find(NODE, { name: pod.spec.nodeName })) return;
      if (!isOver(pod)) await fail(pod);
      await deletePod(parts, pod, 0);
    },
  });
  pods.subscribe((now) => {
    if (!now) return;
    const orphaned = now.spec.nodeName !== undefined && !nodes.get({ name: now.spec.nodeName });
    const unassigned = !now.spec.nodeName && now.metadata.deletionTimestamp !== undefined;
    if (unassigned) loop.add(keyOf(now.metadata));
    else if (orphaned) loop.add(keyOf(now.metadata), QUARANTINE_MS);
  });
  nodes.subscribe((now, before) => {
    if (now || !before) return;
    for (const pod of pods.by(nodeNameOf, before.metadata.name)) loop.add(keyOf(pod.metadata), QUARANTINE_MS);
  });
  await Promise.all([pods.synced, nodes.synced]);
}
