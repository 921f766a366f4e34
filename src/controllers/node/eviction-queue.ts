/**
 * Removes pods from draining nodes: through the Eviction API, which respects PodDisruptionBudgets, or by forced deletion near
 * the deadline.
 */
import type { Counter } from 'prom-client';
import { getCondition } from '../../api/conditions.ts';
import { POD } from '../../api/kinds.ts';
import type { Pod } from '../../api/kubernetes.ts';
import { nodeNameOf } from '../../api/object-fields.ts';
import { isActive, isEvictable, podKey } from '../../engine/pods.ts';
import { ApiError, isConflict, isNotFound } from '../../kube/client.ts';
import {
  type KeyedWorker,
  type Outcome,
  type RateLimit,
  type ReconcileContext,
  Requeue,
  settled,
} from '../../kube/reconciler.ts';
import { timestamp } from '../../lib/times.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { DISRUPTED, EVICTED } from '../../observe/events/pods.ts';
import type { LogFields, Logger } from '../../observe/logger.ts';
import { PODS_DRAINED, PODS_EVICTION_REQUESTS } from '../../observe/metrics/pods.ts';
import { concurrency, globalLimit } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { failedDraining } from './drain-events.ts';
import { canEndSooner, grantedSeconds, needsForceDelete } from './force-delete.ts';
import type { Eviction, Evictions } from './pending-evictions.ts';

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

export class EvictionQueue implements KeyedWorker {
  readonly name = 'eviction-queue';
  readonly keyed = true;
  readonly backOff = { baseMs: 100, maxMs: 10_000 };
  readonly concurrency: number;
  readonly rateLimit: RateLimit;
  readonly #deps: Deps;
  readonly #evictions: Evictions;
  readonly #requests: Counter<'code'>;
  readonly #drained: Counter<'reason'>;

  constructor(deps: Deps, evictions: Evictions) {
    const { metrics, settings } = deps;
    this.#deps = deps;
    this.#evictions = evictions;
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
    const { clock, cluster } = this.#deps;
    const pod = cluster.stores.pods.get(eviction);
    if (pod === undefined || pod.metadata.uid !== eviction.uid) return settled;
    const nowMs = clock.now();
    // checked at each attempt: a pod that its budgets hold back is deleted as soon as its deadline is near
    if (needsForceDelete(pod, eviction.deadlineMs, nowMs)) {
      return canEndSooner(pod, eviction.deadlineMs, nowMs) ? this.#forceDelete(pod, eviction, context) : settled;
    }
    if (!isActive(pod)) return settled;
    if (!isEvictable(pod, nowMs)) throw new Requeue(`pod ${podKey(pod)} does not want to be disrupted`);
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
