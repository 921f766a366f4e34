/**
 * Holds the voluntary eviction of the only ready pod of a Deployment that requests it, until a restart of the Deployment has
 * created a new ready pod, or its time has ended.
 */
import { LRUCache } from 'lru-cache';
import {
  controllerOf,
  DEPLOYMENT,
  DISRUPTED_TAINT,
  getCondition,
  isTrue,
  nodeNameOf,
  type Pod,
  REPLICA_SET,
  RESTARTED_AT_ANNOTATION,
  SURGE_STARTED_ANNOTATION,
  uidOf,
} from '#api/objects';
import { type SurgeDeployment, surgeRequest, surgeStep } from '#engine/drain';
import { isActive, podKey, sameTaint, selects } from '#engine/model';
import { ApiError } from '#kube/client';
import { timeOf, timestamp } from '#lib';
import { monotonicMs } from '#lib/clock';
import { eventOf, SURGE_ENDED, SURGE_STARTED } from '#observe/events';
import type { Logger } from '#observe/logger';
import { PODS_SURGES } from '#observe/metrics';
import type { Deps } from '../deps.ts';

/** Interval of checks of a pod that waits. The drain tries each second. */
const CHECK_MS = 5_000;
/** Additional time after which a pod is evicted although its Deployment cannot be read. */
const UNREAD_MS = 60_000;
const MOST_PODS = 10_000;
/** Maximum age of the list of ready pods, which all pods that wait share. */
const READY_PODS_MS = 1_000;

interface Held {
  /** By `monotonicMs`. */
  readonly sinceMs: number;
  /** Time of the last check while the pod waits, by `monotonicMs`. */
  checkedMs?: number | undefined;
  hasStarted?: boolean;
  /** The step is final, and the pod is evicted. */
  isOver?: boolean;
}

interface Wait {
  readonly held: Held;
  readonly withinMs: number;
  readonly log: Logger;
}

export class Surges {
  readonly #deps: Deps;
  readonly #held = new LRUCache<string, Held>({ max: MOST_PODS });
  /** Ready pods by namespace. Weak, so that the list does not keep deleted pods after the last wait. */
  #ready:
    | { readonly atMs: number; readonly pods: WeakRef<ReadonlyMap<string | undefined, readonly Pod[]>> }
    | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    for (const outcome of ['started', 'late', 'reverted', 'unsupported'])
      deps.metrics.counter(PODS_SURGES).inc({ outcome }, 0);
  }

  /** Returns true while the eviction of a pod must wait. @throws Error if the Deployment cannot be read now */
  async holds(pod: Pod, log: Logger): Promise<boolean> {
    const request = surgeRequest(pod);
    if (request === undefined || !this.#isVoluntary(pod)) return false;
    const nowMs = monotonicMs(this.#deps.clock);
    const held: Held = this.#held.get(uidOf(pod)) ?? { sinceMs: nowMs };
    this.#held.set(uidOf(pod), held);
    if (held.isOver) return false;
    if ('error' in request) return this.#end(pod, held, 'unsupported', request.error);
    if (!this.#deps.settings.podSurge) {
      const text = 'the operator must not restart Deployments; set settings.podSurge=true of the chart';
      return this.#end(pod, held, 'unsupported', text);
    }
    if (nowMs - held.sinceMs > request.withinMs + UNREAD_MS) return this.#end(pod, held, 'late', 'its time has ended');
    if (held.checkedMs !== undefined && nowMs - held.checkedMs < CHECK_MS) return true;
    const found = await this.#deploymentOf(pod);
    if (typeof found === 'string') return this.#end(pod, held, 'unsupported', found);
    const waits = await this.#step(pod, found, { held, withinMs: request.withinMs, log });
    held.checkedMs = waits ? nowMs : undefined;
    return waits;
  }

  /** Interrupted, expired and unhealthy nodes, and nodes that users delete, are drained without a surge. */
  #isVoluntary(pod: Pod): boolean {
    const { cluster } = this.#deps;
    const node = cluster.nodeByName(nodeNameOf(pod));
    return node?.nodeClaim !== undefined && isTrue(node.nodeClaim, 'DisruptionReason');
  }

  async #step(pod: Pod, deployment: SurgeDeployment, wait: Wait): Promise<boolean> {
    const { clock, cluster } = this.#deps;
    const { held, withinMs } = wait;
    const step = surgeStep({
      pod,
      deployment,
      withinMs,
      readySinceMs: this.#readySinceMs(pod, deployment),
      hasExclusiveVolume: this.#hasExclusiveVolume(pod),
      nowMs: clock.now(),
    });
    switch (step.kind) {
      case 'evict':
        return false;
      case 'unsupported':
        return this.#end(pod, held, 'unsupported', step.text);
      case 'ended':
        return this.#end(pod, held, step.outcome, step.text);
      case 'start':
        // after the clock was set back, the restart would seem older than the pod
        return held.hasStarted ? false : this.#start(pod, deployment, wait);
      case 'wait':
        cluster.surged.set(uidOf(pod), true);
        return true;
    }
  }

  async #start(pod: Pod, deployment: SurgeDeployment, { held, withinMs, log }: Wait): Promise<boolean> {
    const { client, clock, cluster, events, metrics } = this.#deps;
    const { name, resourceVersion } = deployment.metadata;
    // later than the creation of the pod, so that a pod has only one restart
    const time = timestamp(Math.max(clock.now(), timeOf(pod.metadata.creationTimestamp) + 1_000));
    // before the request, because the new pod is pending before its response
    cluster.surged.set(uidOf(pod), true);
    try {
      await client.patch(DEPLOYMENT, deployment.metadata, {
        metadata: { resourceVersion, annotations: { [SURGE_STARTED_ANNOTATION]: time } },
        spec: { template: { metadata: { annotations: { [RESTARTED_AT_ANNOTATION]: time } } } },
      });
    } catch (error) {
      cluster.surged.delete(uidOf(pod));
      if (!(error instanceof ApiError) || error.status >= 500 || error.status === 429) throw error;
      // another client has changed the Deployment, which is read again
      if (error.status === 409) return true;
      return this.#end(pod, held, 'unsupported', `its Deployment cannot be restarted: ${error.message}`);
    }
    held.hasStarted = true;
    metrics.counter(PODS_SURGES).inc({ outcome: 'started' });
    const until = timestamp(timeOf(time) + withinMs);
    log.info('restarted deployment before an eviction', { Pod: podKey(pod), Deployment: { name }, until });
    const message = SURGE_STARTED.message(name, until);
    events.publish(eventOf(SURGE_STARTED, pod, { message, dedupe: [pod.metadata.name] }));
    return true;
  }

  /** Reports the end of a wait or the obstacle once. Returns false: the pod is evicted. */
  #end(pod: Pod, held: Held, outcome: 'late' | 'reverted' | 'unsupported', text: string): false {
    const { cluster, events, metrics } = this.#deps;
    held.isOver = true;
    cluster.surged.delete(uidOf(pod));
    metrics.counter(PODS_SURGES).inc({ outcome });
    events.publish(
      eventOf(SURGE_ENDED, pod, { message: SURGE_ENDED.message(text), dedupe: [pod.metadata.name, text] }),
    );
    return false;
  }

  /** Returns the Deployment of a pod, or the reason why the pod has no Deployment to restart. */
  async #deploymentOf(pod: Pod): Promise<SurgeDeployment | string> {
    const { client } = this.#deps;
    const { namespace } = pod.metadata;
    const owner = controllerOf(pod);
    if (owner?.kind !== 'ReplicaSet')
      return `its controller is ${owner === undefined ? 'absent' : `a ${owner.kind}`}; only pods of Deployments are supported`;
    try {
      const set = await client.find(REPLICA_SET, { namespace, name: owner.name });
      const parent = set && controllerOf(set);
      if (parent?.kind !== 'Deployment')
        return 'its ReplicaSet has no Deployment; only pods of Deployments are supported';
      const found = await client.find(DEPLOYMENT, { namespace, name: parent.name });
      return found === undefined || uidOf(found) !== parent.uid ? 'its Deployment does not exist' : found;
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) return `its Deployment must not be read: ${error.message}`;
      throw error;
    }
  }

  /** Returns the time since which another pod of the Deployment is ready on a node that stays. */
  #readySinceMs(pod: Pod, { spec }: SurgeDeployment): number | undefined {
    const times = this.#readyPods(pod.metadata.namespace)
      .filter(
        (other) =>
          uidOf(other) !== uidOf(pod) &&
          selects(spec.selector, other.metadata.labels) &&
          this.#stays(nodeNameOf(other)),
      )
      .map((other) => timeOf(getCondition(other, 'Ready')?.lastTransitionTime))
      .filter((ms) => !Number.isNaN(ms));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #readyPods(namespace: string | undefined): readonly Pod[] {
    const { clock, cluster } = this.#deps;
    const atMs = monotonicMs(clock);
    const known =
      this.#ready !== undefined && atMs - this.#ready.atMs < READY_PODS_MS ? this.#ready.pods.deref() : undefined;
    if (known !== undefined) return known.get(namespace) ?? [];
    const ready = cluster.stores.pods
      .list()
      .filter((pod) => isActive(pod) && getCondition(pod, 'Ready')?.status === 'True');
    const pods = Map.groupBy(ready, ({ metadata }) => metadata.namespace);
    this.#ready = { atMs, pods: new WeakRef(pods) };
    return pods.get(namespace) ?? [];
  }

  #stays(nodeName: string): boolean {
    const found = this.#deps.cluster.nodeByName(nodeName);
    if (found?.node === undefined) return false;
    const { node, markedForDeletion } = found;
    return !markedForDeletion && !(node.spec?.taints ?? []).some((taint) => sameTaint(taint, DISRUPTED_TAINT));
  }

  #hasExclusiveVolume(pod: Pod): boolean {
    const { persistentVolumeClaims } = this.#deps.cluster.stores;
    const { namespace } = pod.metadata;
    return (pod.spec.volumes ?? []).some(({ persistentVolumeClaim: claim, ephemeral }) => {
      if (ephemeral !== undefined || claim === undefined) return false;
      const modes = persistentVolumeClaims.get({ namespace, name: claim.claimName })?.spec.accessModes ?? [];
      return !modes.some((mode) => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany');
    });
  }
}
