/**
 * Reports pods that several runs place on an initialized node but that their scheduler does not bind, although no property of
 * the node prevents it.
 */

import { NODEPOOL_LABEL, type Pod, uidOf } from '#api/objects';
import { isScheduled, type Plan, podKey, type StateNode } from '#engine/model';
import { monotonicMs } from '#lib/clock';
import { eventOf, NOT_BOUND, NOT_BOUND_OF_NODEPOOL } from '#observe/events';
import { likenessOf } from '#state';
import type { Deps } from '../deps.ts';
import { suitability, unexplained } from './lacks.ts';
import { volumeReader } from './volume-reader.ts';

/** Time after which a node is no longer nominated for the pod. */
const UNUSED_MS = 10 * 60_000;
/** Time after which the pod gets an event. */
const UNBOUND_MS = 2 * 60_000;

interface Placed {
  readonly sinceMs: number;
  readonly providerId: string;
}

export class UnboundPods {
  readonly #deps: Deps;
  /** First placement of each pod on the node that it is still not bound to, by UID. */
  #known: ReadonlyMap<string, Placed> = new Map();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Records the placements of a run on existing nodes. */
  placed(placements: Plan['placements'], pods: ReadonlyMap<string, Pod>): void {
    const nowMs = monotonicMs(this.#deps.clock);
    const volumes = volumeReader(this.#deps.cluster);
    const now = new Map<string, Placed>();
    for (const { pod, node } of this.#onInitialized(placements, pods)) {
      const uid = pod.metadata.uid ?? podKey(pod);
      const known = this.#known.get(uid);
      const entry = known?.providerId === node.providerId ? known : { sinceMs: nowMs, providerId: node.providerId };
      now.set(uid, entry);
      if (nowMs - entry.sinceMs < UNBOUND_MS) continue;
      const found = suitability(pod, node, volumes);
      publishNotBound(this.#deps, pod, node, found.kind === 'lacking' ? found.text : unexplained(pod));
    }
    this.#known = now;
  }

  /** Returns true if the pod has not been bound to the node for so long that the node should not wait for it. */
  isOverdue({ metadata }: Pod, { providerId }: Pick<StateNode, 'providerId'>): boolean {
    const known = this.#known.get(metadata.uid ?? '');
    return known?.providerId === providerId && monotonicMs(this.#deps.clock) - known.sinceMs >= UNUSED_MS;
  }

  *#onInitialized(
    placements: Plan['placements'],
    pods: ReadonlyMap<string, Pod>,
  ): Iterable<{ readonly pod: Pod; readonly node: StateNode }> {
    for (const { providerId, pods: keys } of placements) {
      const node = this.#deps.cluster.nodeByProviderId(providerId);
      if (!node?.initialized) continue;
      for (const key of keys) {
        const pod = pods.get(key);
        if (pod !== undefined && !isScheduled(pod)) yield { pod, node };
      }
    }
  }
}

/** Reports that a pod is not bound to an initialized node: on the pod, and on the NodePool of the node. */
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
