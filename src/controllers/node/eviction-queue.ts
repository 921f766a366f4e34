/**
 * Removes pods from draining nodes: through the Eviction API, which respects PodDisruptionBudgets, or by forced deletion near
 * the deadline.
 */
import type { Counter } from 'prom-client';
import { getCondition, type Node, nodeNameOf, POD, type Pod } from '#api/objects';
import { canEndSooner, grantedSeconds, needsForceDelete } from '#engine/drain';
import { isActive, isEvictable, podKey } from '#engine/model';
import { ApiError, isConflict, isNotFound } from '#kube/client';
import {
  type EventNote,
  type KeyedWorker,
  type Outcome,
  type RateLimit,
  type ReconcileContext,
  Requeue,
  settled,
} from '#kube/reconcilers';
import { timestamp } from '#lib';
import { monotonicMs, type Timepiece } from '#lib/clock';
import { DISRUPTED, EVICTED, eventOf, FAILED_DRAINING } from '#observe/events';
import type { LogFields, Logger } from '#observe/logger';
import { PODS_DRAINED, PODS_EVICTION_REQUESTS } from '#observe/metrics';
import { concurrency, globalLimit } from '../concurrency.ts';
import { currentObject } from '../current-object.ts';
import type { Deps } from '../deps.ts';
import { Surges } from './surges.ts';

const RANGE = { min: 100, max: 5_000 };
const FORCED = 'Forceful Termination';
/** Message of the API server, with status 500, if several PodDisruptionBudgets select the pod. */
const SEVERAL_BUDGETS =
  'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
/**
 * Message of an overloaded API server. Any other response with status 429 holds the pod: a budget, or a webhook that first
 * moves the pod.
 */
const BUSY = /too many requests/i;

type Answer = 'evicted' | 'gone' | 'budget' | 'budgets';

interface Eviction {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Infinity if there is no deadline and the budgets alone determine the duration. */
  readonly deadlineMs: number;
}

/** Returns a key that identifies one pod, even if another pod had the same name. */
const evictionKey = (namespace: string, name: string, uid: string): string => `${namespace}/${name}/${uid}`;

/**
 * Longer than the delay of caches, and shorter than an acceptable wait for a pod that stays although its deletion was accepted.
 */
const KEEP_MS = 30_000;

/** Pods to evict, with deadlines. Draining nodes add pods, and the queue evicts them. */
export class Evictions {
  readonly #clock: Timepiece;
  readonly #byKey = new Map<string, Eviction>();
  /**
   * Pods with a recently accepted deletion, and the deletion timestamp that the cache showed at that time. The oldest come
   * first.
   */
  readonly #granted = new Map<string, { readonly sinceMs: number; readonly shown: string | undefined }>();
  #enqueue: (key: string) => void = () => undefined;

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Sets the receiver for keys of new evictions. */
  bind(enqueue: (key: string) => void): void {
    this.#enqueue = enqueue;
    for (const key of this.#byKey.keys()) enqueue(key);
  }

  /**
   * Adds pods. For a pod that is already added, only an earlier deadline is recorded. A pod with an accepted deletion is not
   * added while the cache does not show the deletion.
   */
  add(pods: readonly Pod[], deadlineMs: number): void {
    this.#forgetOld();
    for (const { metadata } of pods) {
      const { name, namespace = '', uid = '', deletionTimestamp } = metadata;
      const key = evictionKey(namespace, name, uid);
      const granted = this.#granted.get(key);
      if (granted && granted.shown === deletionTimestamp) continue;
      const known = this.#byKey.get(key);
      const earliestMs = Math.min(known?.deadlineMs ?? Number.POSITIVE_INFINITY, deadlineMs);
      this.#byKey.set(key, { namespace, name, uid, deadlineMs: earliestMs });
      if (known === undefined) this.#enqueue(key);
    }
  }

  get(key: string): Eviction | undefined {
    return this.#byKey.get(key);
  }

  drop(key: string): void {
    this.#byKey.delete(key);
  }

  /** Records that the API server deletes the pod, or deletes it sooner. The cache will show this change soon. */
  granted({ metadata }: Pod): void {
    const { name, namespace = '', uid = '', deletionTimestamp } = metadata;
    const key = evictionKey(namespace, name, uid);
    this.#granted.delete(key);
    this.#granted.set(key, { sinceMs: monotonicMs(this.#clock), shown: deletionTimestamp });
  }

  #forgetOld(): void {
    const oldestMs = monotonicMs(this.#clock) - KEEP_MS;
    for (const [key, { sinceMs }] of this.#granted) {
      if (sinceMs > oldestMs) return;
      this.#granted.delete(key);
    }
  }
}

export class EvictionQueue implements KeyedWorker {
  readonly name = 'eviction-queue';
  readonly keyed = true;
  readonly backOff = { baseMs: 100, maxMs: 10_000 };
  readonly concurrency: number;
  readonly rateLimit: RateLimit;
  readonly #deps: Deps;
  readonly #evictions: Evictions;
  readonly #surges: Surges;
  readonly #requests: Counter<'code'>;
  readonly #drained: Counter<'reason'>;

  constructor(deps: Deps, evictions: Evictions) {
    const { metrics, settings } = deps;
    this.#deps = deps;
    this.#evictions = evictions;
    this.#surges = new Surges(deps);
    this.#requests = metrics.counter(PODS_EVICTION_REQUESTS);
    this.#drained = metrics.counter(PODS_DRAINED);
    this.concurrency = concurrency(settings, RANGE);
    this.rateLimit = globalLimit(settings, RANGE, 100);
  }

  bind(enqueue: (key: string) => void): void {
    this.#evictions.bind(enqueue);
  }

  describe(key: string): LogFields {
    const [namespace = '', name = ''] = key.split('/');
    return { controllerGroup: '', controllerKind: 'Pod', Pod: { name, namespace }, namespace, name };
  }

  async reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const eviction = this.#evictions.get(key);
    if (eviction === undefined) return settled;
    const outcome = await this.#work(eviction, context);
    this.#evictions.drop(key);
    return outcome;
  }

  /** Tries once. Returns `settled` if no further request is necessary. @throws to try again */
  async #work(eviction: Eviction, context: ReconcileContext): Promise<Outcome> {
    const { client, clock, cluster } = this.#deps;
    // a drain also adds pods that the API server lists and the cache does not show
    const pod = cluster.stores.pods.get(eviction) ?? (await client.find(POD, eviction));
    if (pod === undefined || pod.metadata.uid !== eviction.uid) return settled;
    const nowMs = clock.now();
    // checked at each attempt: a pod that its budgets hold back is deleted as soon as its deadline is near
    if (needsForceDelete(pod, eviction.deadlineMs, nowMs)) {
      return canEndSooner(pod, eviction.deadlineMs, nowMs) ? this.#forceDelete(pod, eviction, context) : settled;
    }
    if (!isActive(pod)) return settled;
    // the annotation that protects a pod may be newer than the cache
    const current = await currentObject(this.#deps, POD, eviction);
    if (current?.metadata.uid !== eviction.uid || !isActive(current)) return settled;
    if (!isEvictable(current, nowMs)) throw new Requeue(`pod ${podKey(pod)} does not want to be disrupted`);
    // the drain adds the pod again
    if (await this.#surges.holds(current, context.log)) return settled;
    return this.#evict(pod, eviction);
  }

  async #evict(pod: Pod, { uid }: Eviction): Promise<Outcome> {
    const answer = await this.#request(pod, uid);
    if (answer === 'gone') return settled;
    if (answer === 'evicted') {
      this.#evicted(pod);
      return settled;
    }
    const obstacle = answer === 'budget' ? 'evicting pod violates a PDB' : 'eviction does not support multiple PDBs';
    const text = `${obstacle} (Pod=${podKey(pod)})`;
    const node = this.#deps.cluster.stores.nodes.get({ name: nodeNameOf(pod) });
    if (node) this.#deps.events.publish(failedDraining(node, 'budget', text));
    throw new Requeue(text);
  }

  async #request(pod: Pod, uid: string): Promise<Answer> {
    try {
      await this.#deps.client.evict(pod, { uid });
      this.#requests.inc({ code: '200' });
      return 'evicted';
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#requests.inc({ code: String(error.status) });
      if (isNotFound(error) || isConflict(error)) return 'gone';
      if (error.status === 429 && !BUSY.test(error.message)) return 'budget';
      if (error.message.includes(SEVERAL_BUDGETS)) return 'budgets';
      throw error;
    }
  }

  #evicted(pod: Pod): void {
    this.#evictions.granted(pod);
    const reason = this.#reasonFor(pod);
    this.#drained.inc({ reason });
    this.#deps.events.publish(eventOf(EVICTED, pod, { message: EVICTED.message(reason), dedupe: [pod.metadata.name] }));
  }

  async #forceDelete(pod: Pod, { deadlineMs, uid }: Eviction, { log }: ReconcileContext): Promise<Outcome> {
    const { client, clock } = this.#deps;
    const gracePeriodSeconds = grantedSeconds(deadlineMs, clock.now());
    this.#reportForced(pod, { gracePeriodSeconds, time: timestamp(deadlineMs) }, log);
    try {
      await client.delete(POD, pod.metadata, { uid, gracePeriodSeconds });
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return settled;
      throw error;
    }
    this.#evictions.granted(pod);
    this.#drained.inc({ reason: this.#reasonFor(pod) });
    return settled;
  }

  #reportForced(
    pod: Pod,
    { gracePeriodSeconds, time }: { readonly gracePeriodSeconds: number; readonly time: string },
    log: Logger,
  ): void {
    const own = pod.spec.terminationGracePeriodSeconds;
    const message = DISRUPTED.message(time, gracePeriodSeconds, own);
    this.#deps.events.publish(eventOf(DISRUPTED, pod, { message, dedupe: [pod.metadata.name] }));
    log.debug('deleting pod', {
      'pod.terminationGracePeriodSeconds': own,
      'delete.gracePeriodSeconds': gracePeriodSeconds,
      'nodeclaim.terminationTime': time,
    });
  }

  /**
   * Returns the reason for the disruption of the pod's node. Returns an empty text if the node is unknown or does not have
   * exactly one NodeClaim.
   */
  #reasonFor(pod: Pod): string {
    const { cluster } = this.#deps;
    const node = cluster.stores.nodes.get({ name: nodeNameOf(pod) });
    const [claim, ...others] = node ? cluster.claimsOfNode(node) : [];
    if (claim === undefined || others.length > 0) return '';
    const condition = getCondition(claim, 'DisruptionReason');
    return condition?.status === 'True' ? (condition.reason ?? '') : FORCED;
  }
}

/**
 * Creates an event for a drain that takes long. The number of waiting pods and each kind of obstacle are separate events: the
 * number is published every second and would otherwise suppress the obstacle.
 */
export const failedDraining = (node: Node, about: 'waiting' | 'budget' | 'unread', obstacle: string): EventNote =>
  eventOf(FAILED_DRAINING, node, {
    message: FAILED_DRAINING.message(obstacle),
    dedupe: [node.metadata.name, about],
  });
