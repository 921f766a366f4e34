/** Reports that a pod is not bound to a node that is initialized: on the pod, and on the NodePool that bought the node. */
import type { Pod } from '../../api/kubernetes.ts';
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { StateNode } from '../../engine/model.ts';
import { podKey } from '../../engine/pods.ts';
import { likenessOf } from '../../engine-worker/pod-likeness.ts';
import type { Deps } from '../deps.ts';

const EVENT_WINDOW_MS = 5 * 60_000;

export function publishNotBound({ events }: Pick<Deps, 'events'>, pod: Pod, node: StateNode, text: string): void {
  events.publish({
    object: pod,
    type: 'Warning',
    reason: 'NotBound',
    windowMs: EVENT_WINDOW_MS,
    message: `Pod is not bound to node/${node.name}, although it is initialized: ${text}`,
    dedupe: [pod.metadata.uid ?? podKey(pod), node.name],
  });
}

export function publishBoughtInVain(
  { cluster, events }: Pick<Deps, 'cluster' | 'events'>,
  pod: Pod,
  { name, nodeClaim }: StateNode,
  text: string,
): void {
  const pool = cluster.stores.nodePools.get({ name: nodeClaim?.metadata.labels?.[NODEPOOL_LABEL] ?? '' });
  if (pool === undefined) return;
  events.publish({
    object: pool,
    type: 'Warning',
    reason: 'NotBound',
    windowMs: EVENT_WINDOW_MS,
    message: `Pod ${podKey(pod)} is not bound to node/${name} of this NodePool, which was bought for it: ${text}`,
    dedupe: [pool.metadata.uid ?? '', likenessOf(pod)],
  });
}
