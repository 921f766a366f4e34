/** Reports that a pod is not bound to an initialized node: on the pod, and on the NodePool of the node. */
import type { Pod } from '../../api/kubernetes.ts';
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import { uidOf } from '../../api/object-fields.ts';
import type { StateNode } from '../../engine/model.ts';
import { podKey } from '../../engine/pods.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { NOT_BOUND, NOT_BOUND_OF_NODEPOOL } from '../../observe/events/pods.ts';
import { likenessOf } from '../../state/pod-likeness.ts';
import type { Deps } from '../deps.ts';

export function publishNotBound({ events }: Pick<Deps, 'events'>, pod: Pod, node: StateNode, text: string): void {
  const message = NOT_BOUND.message(node.name, text);
  events.publish(eventOf(NOT_BOUND, pod, { message, dedupe: [pod.metadata.uid ?? podKey(pod), node.name] }));
}

export function publishBoughtInVain(
  { cluster, events }: Pick<Deps, 'cluster' | 'events'>,
  pod: Pod,
  { name, nodeClaim }: StateNode,
  text: string,
): void {
  const pool = cluster.stores.nodePools.get({ name: nodeClaim?.metadata.labels?.[NODEPOOL_LABEL] ?? '' });
  if (pool === undefined) return;
  const message = NOT_BOUND_OF_NODEPOOL.message(podKey(pod), name, text);
  const dedupe = [uidOf(pool), likenessOf(pod)];
  events.publish(eventOf(NOT_BOUND_OF_NODEPOOL, pool, { message, dedupe }));
}
