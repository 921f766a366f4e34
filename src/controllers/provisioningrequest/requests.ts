/** Provides capacity for ProvisioningRequests, holds it for a time, and writes the result to their status. */
import { LRUCache } from 'lru-cache';
import {
  CAPACITY_QUOTA,
  type ConditionUpdate,
  getCondition,
  type KubeObject,
  NODE_POLICY,
  NODE_POOL,
  NODEPOOL_LABEL,
  type NodePool,
  POD,
  POD_TEMPLATE,
  type Pod,
  PROVISIONING_REQUEST,
  type ProvisioningRequest,
  uidOf,
  withCondition,
  ZONE_LABEL,
} from '#api/objects';
import { isScheduled, isUnschedulable, type Plan, podKey } from '#engine/model';
import {
  acceptance,
  type BufferOutcome,
  bookingFailure,
  CHECK_CAPACITY,
  dueChange,
  hasRoomBeside,
  isHandled,
  isProvidedBy,
  lossOfBooking,
  nextDueMs,
  outcomeCondition,
  type PodSet,
  PROVISIONED,
  phaseOf,
  podsFailure,
  requestGang,
  requestKey,
  requestPods,
  requestUsedBy,
} from '#engine/solve';
import { deleteExactly, keyOf, refOf, type Store, unlessGone, writeChanges } from '#kube/client';
import { after, type Key, type Outcome, type Reconciler, settled, type Trigger } from '#kube/reconcilers';
import { messageOf, timeOf, timestamp, withBoundedConcurrency } from '#lib';
import { CONSUMES_REQUEST, eventOf } from '#observe/events';
import type { Logger } from '#observe/logger';
import { PROVISIONING_REQUESTS } from '#observe/metrics';
import { PODS_BY_NODE } from '#state';
import type { VirtualOutcomes } from '../capacitybuffer/resolution.ts';
import type { Deps } from '../deps.ts';
import { gangIdsOf } from '../gang-ids.ts';
import { mayTakeMore } from '../ready-pools.ts';
import { retryWrites } from '../retry.ts';

/** Interval of provisioning runs while a request waits for its nodes, and of checks of its bookings. */
const REVIEW_MS = 10_000;
const FIRST_BACK_OFF_MS = 60_000;
const MOST_BACK_OFF_MS = 10 * 60_000;
/** Number of requests whose attempts are remembered. */
const MOST_REMEMBERED = 1000;
/** Time after which a booking without room for all pods is revoked. */
const LOST_MS = 60_000;
/** Maximum number of events on waiting pods in one run. */
const MOST_EVENTS = 50;
const AT_ONCE = 10;
/** Index of the pods that use the capacity of a request, by namespaced name of the request. */
const PODS_BY_REQUEST = 'provisioning-request';

/** Opens a provisioning run. The same id counts once per run. */
interface Provisioning {
  trigger(id: string): void;
}

interface Attempts {
  readonly failures: number;
  /** Time of the last attempt, by the clock's time. */
  readonly triedMs: number;
  /** By the clock's time. */
  readonly nextMs: number;
}

const requestOf = (pod: Pod): readonly string[] => {
  const name = requestUsedBy(pod);
  return name === undefined ? [] : [`${pod.metadata.namespace ?? 'default'}/${name}`];
};

/** Wakes the requests of pods that are bound. */
const ofBoundPods: Trigger = {
  kind: POD,
  keysFor: (object, event, before) => {
    const isBound = (of: KubeObject | undefined): boolean => of !== undefined && isScheduled(of as Pod);
    return event === 'deleted' || !isBound(object) || isBound(before) ? [] : requestOf(object as Pod).map(refOf);
  },
};

const mayLaunch = ({ spec }: ProvisioningRequest): boolean => spec.provisioningClassName !== CHECK_CAPACITY;

/** Returns the last attempt that the status shows, for a process that has not tried the request yet. */
function attemptIn(request: ProvisioningRequest): Omit<Attempts, 'failures'> {
  const { reason, message, lastTransitionTime } = getCondition(request, PROVISIONED) ?? {};
  const isRefused = reason === 'CapacityIsNotFound' && message !== NO_POOLS.message;
  if (!isRefused) return { triedMs: 0, nextMs: 0 };
  const triedMs = timeOf(lastTransitionTime) || 0;
  return { triedMs, nextMs: triedMs + FIRST_BACK_OFF_MS };
}

/**
 * Returns triggers for changes after which more nodes may be allowed: a NodePool that becomes ready or is edited, and edited or
 * deleted ceilings.
 */
function raisingTriggers(keysIf: (isRaised: boolean) => readonly Key[]): readonly Trigger[] {
  const isEdited = (object: KubeObject, before: KubeObject | undefined): boolean =>
    before !== undefined && object.metadata.generation !== before.metadata.generation;
  const ofCeilings = [NODE_POLICY, CAPACITY_QUOTA].map(
    (kind): Trigger => ({
      kind,
      optional: true,
      deferred: true,
      keysFor: (object, event, before) => keysIf(event === 'deleted' || isEdited(object, before)),
    }),
  );
  const ofPools: Trigger<NodePool> = {
    kind: NODE_POOL,
    keysFor: (pool, event, before) => keysIf(event === 'updated' && mayTakeMore(pool, before)),
  };
  return [ofPools as unknown as Trigger, ...ofCeilings];
}

export class ProvisioningRequests implements Reconciler<ProvisioningRequest> {
  readonly name = 'provisioningrequest';
  readonly watches = PROVISIONING_REQUEST;
  readonly optional = true;
  readonly concurrency = 10;
  readonly triggers: readonly Trigger[];
  readonly #deps: Deps;
  readonly #provisioning: Provisioning;
  readonly #store: Store<ProvisioningRequest>;
  readonly #pods: Store<Pod>;
  readonly #seen = new Set<string>();
  /** Pod sets of requests with virtual pods, by namespaced name. */
  readonly #sets = new Map<string, readonly PodSet[]>();
  /** By UID. */
  readonly #attempts = new LRUCache<string, Attempts>({ max: MOST_REMEMBERED });
  /** UIDs of requests that this process has booked. The store may not show it yet. */
  readonly #booked = new LRUCache<string, true>({ max: MOST_REMEMBERED });
  /** Times since which bookings have no room for all pods, by namespaced name. */
  readonly #lostMs = new Map<string, number>();
  #isKnown = false;
  /** Time at which a NodePool or a ceiling changed such that it may allow more nodes. */
  #raisedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: Deps, provisioning: Provisioning) {
    const { cluster, informers, metrics } = deps;
    this.#deps = deps;
    this.#provisioning = provisioning;
    this.#store = informers.store(PROVISIONING_REQUEST, {}, { optional: true });
    this.#pods = informers.store(POD, { [PODS_BY_REQUEST]: requestOf });
    this.triggers = [ofBoundPods, ...raisingTriggers((isRaised) => (isRaised ? this.#raised() : []))];
    metrics.counter(PROVISIONING_REQUESTS);
    cluster.virtualPods.addSource(() => this.#areAllSeen());
    cluster.usesRequest = (pod) => this.#provides(pod);
  }

  removed(ref: Key): void {
    this.#withdraw(keyOf(ref));
    this.#seen.delete(keyOf(ref));
    this.#provisioning.trigger(keyOf(ref));
  }

  async reconcile(request: ProvisioningRequest): Promise<Outcome> {
    const key = requestKey(request);
    try {
      return await this.#reconcile(request, key);
    } finally {
      this.#seen.add(key);
    }
  }

  async #reconcile(request: ProvisioningRequest, key: string): Promise<Outcome> {
    const nowMs = this.#deps.clock.now();
    if (request.metadata.deletionTimestamp || !isHandled(request)) {
      this.#withdraw(key);
      return settled;
    }
    const due = dueChange(request, nowMs, this.#scheduled(key).length);
    if (due !== undefined) return this.#change(request, due);
    const phase = phaseOf(request);
    const restMs = nextDueMs(request) - nowMs;
    // the store is behind a write of this process
    if (phase === 'open' && this.#booked.has(uidOf(request))) return after(REVIEW_MS);
    if (phase === 'ended') {
      this.#withdraw(key);
      return after(restMs);
    }
    const waitMs = phase === 'open' ? this.#nextMs(request) - nowMs : 0;
    if (waitMs > 0) {
      this.#withdraw(key);
      return after(Math.min(waitMs, restMs));
    }
    await this.#provide(request, key);
    return after(Math.min(REVIEW_MS, restMs));
  }

  /** Returns true if the virtual pods of all requests are known. Without the kind, no pods are missing. */
  #areAllSeen(): boolean {
    if (!this.#store.synced) return true;
    this.#isKnown ||= this.#store.list().every((request) => this.#seen.has(requestKey(request)));
    return this.#isKnown;
  }

  /** Returns true if no node is launched for the pod itself. */
  #provides(pod: Pod): boolean {
    const [key] = requestOf(pod);
    if (key === undefined || !this.#store.synced) return false;
    return isProvidedBy(this.#store.get(refOf(key)));
  }

  /** Returns the bound pods that use the capacity of a request. */
  #scheduled(key: string): readonly Pod[] {
    return this.#pods.byIndex(PODS_BY_REQUEST, key).filter(isScheduled);
  }

  /** Notes that more nodes may be allowed. Returns the requests that launches can serve. */
  #raised(): readonly Key[] {
    if (!this.#store.synced) return [];
    this.#raisedMs = this.#deps.clock.now();
    const served = this.#store.list().filter((each) => isHandled(each) && phaseOf(each) === 'open' && mayLaunch(each));
    return served.map((each) => refOf(requestKey(each)));
  }

  /** Returns the time of the next attempt for an open request. A raised limit makes it due, at most once in some seconds. */
  #nextMs(request: ProvisioningRequest): number {
    const { triedMs, nextMs } = this.#attempts.get(uidOf(request)) ?? attemptIn(request);
    if (!mayLaunch(request) || this.#raisedMs < triedMs) return nextMs;
    return Math.min(nextMs, Math.max(this.#raisedMs, triedMs + REVIEW_MS));
  }

  async #change(request: ProvisioningRequest, due: ConditionUpdate | 'delete'): Promise<Outcome> {
    this.#withdraw(requestKey(request));
    this.#provisioning.trigger(uidOf(request));
    if (due === 'delete') {
      await deleteExactly(this.#deps.client, PROVISIONING_REQUEST, request);
      return settled;
    }
    await this.#write(request, due);
    this.#count(request, due);
    return settled;
  }

  /** Adds or updates the virtual pods of a request, and opens a provisioning run. */
  async #provide(request: ProvisioningRequest, key: string): Promise<void> {
    const { virtualPods } = this.#deps.cluster;
    const isOpen = phaseOf(request) === 'open';
    if (isOpen && getCondition(request, 'Accepted') === undefined) await this.#write(request, acceptance(request));
    if (isOpen && this.#sets.has(key)) return this.#provisioning.trigger(uidOf(request));
    try {
      const sets = this.#sets.get(key) ?? (await this.#resolve(request));
      if (typeof sets === 'string') return await this.#fail(request, sets);
      const pods = requestPods(request, sets, isOpen ? undefined : this.#scheduled(key));
      // a booking is kept, because its room may not be lost
      if (isOpen && !hasRoomBeside(virtualPods.countBeside(requestGang(request)), pods.length))
        return await this.#postpone(request);
      this.#sets.set(key, sets);
      this.#replace(request, pods);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return await this.#fail(request, messageOf(error));
    }
    this.#provisioning.trigger(uidOf(request));
  }

  /** Ends an attempt without a solve, because too many virtual pods exist. */
  async #postpone(request: ProvisioningRequest): Promise<void> {
    this.#withdraw(requestKey(request));
    const triedMs = this.#deps.clock.now();
    const nextMs = triedMs + FIRST_BACK_OFF_MS;
    this.#attempts.set(uidOf(request), { failures: 0, triedMs, nextMs });
    const message =
      'Capacity is not found: the pods of other ProvisioningRequests and CapacityBuffers reach the common limit. ' +
      `The next attempt is at ${timestamp(nextMs)}.`;
    await this.#writeOutcome(request, { type: PROVISIONED, status: 'False', reason: 'CapacityIsNotFound', message });
  }

  /** Keeps the same objects if the pods are unchanged. */
  #replace(request: ProvisioningRequest, pods: readonly Pod[]): void {
    const { virtualPods } = this.#deps.cluster;
    const owner = requestGang(request);
    const before = virtualPods.of(owner);
    const isSame = before.length === pods.length && before.every((pod, at) => isSamePod(pod, pods[at]));
    if (!isSame) virtualPods.replace(owner, pods);
  }

  #withdraw(key: string): void {
    this.#sets.delete(key);
    this.#lostMs.delete(key);
    const owner = `ProvisioningRequest ${key}`;
    if (this.#deps.cluster.virtualPods.of(owner).length > 0) this.#deps.cluster.virtualPods.replace(owner, []);
  }

  /** Returns the pod sets, or the reason why their pods cannot be created. @throws errors of the API server */
  async #resolve({ metadata: { namespace }, spec }: ProvisioningRequest): Promise<readonly PodSet[] | string> {
    const sets: PodSet[] = [];
    for (const { podTemplateRef, count } of spec.podSets) {
      const found = await this.#deps.client.find(POD_TEMPLATE, { name: podTemplateRef.name, namespace });
      if (found === undefined) {
        const remedy = 'create the PodTemplate before the ProvisioningRequest';
        return `PodTemplate "${namespace ?? 'default'}/${podTemplateRef.name}" not found; ${remedy}`;
      }
      sets.push({ template: found.template, count });
    }
    return sets;
  }

  async #fail(request: ProvisioningRequest, text: string): Promise<void> {
    const update = phaseOf(request) === 'open' ? podsFailure(text) : bookingFailure(text);
    await this.#change(request, update);
  }

  /** Records the results of a plan: conditions of requests, and events of waiting pods. Logs failures. */
  async record(outcomes: VirtualOutcomes, plan: Plan | undefined, log: Logger): Promise<void> {
    this.#reportWaiting();
    const requests = [...this.#sets.keys()].flatMap((key) => this.#store.get(refOf(key)) ?? []);
    try {
      await withBoundedConcurrency(requests, AT_ONCE, async (request) => {
        const outcome = outcomes.get(requestGang(request)) ?? this.#withoutPlan(request, plan);
        if (outcome === undefined) return;
        if (plan === undefined && phaseOf(request) === 'open')
          return void (await this.#writeOutcome(request, NO_POOLS));
        if (phaseOf(request) === 'booked') await this.#recordBooking(request, outcome);
        else if (!this.#booked.has(uidOf(request))) await this.#recordAttempt(request, outcome, plan);
      });
    } catch (error) {
      log.error('failed updating provisioning requests', { error });
    }
  }

  /** A run without NodePools has no plan. */
  #withoutPlan(request: ProvisioningRequest, plan: Plan | undefined): BufferOutcome | undefined {
    const { length } = this.#deps.cluster.virtualPods.of(requestGang(request));
    if (plan !== undefined || length === 0) return undefined;
    return { existing: 0, joining: 0, bought: 0, failed: length };
  }

  async #recordAttempt(request: ProvisioningRequest, outcome: BufferOutcome, plan: Plan | undefined): Promise<void> {
    const key = requestKey(request);
    const nowMs = this.#deps.clock.now();
    const uid = uidOf(request);
    const { failures = 0 } = this.#attempts.peek(uid) ?? {};
    const nextMs = nowMs + Math.min(FIRST_BACK_OFF_MS * 2 ** failures, MOST_BACK_OFF_MS);
    // the launch of a part of the nodes must end before the next attempt
    const isLaunched = this.#hasClaims(requestGang(request));
    const update = outcomeCondition(request, outcome, {
      nowMs,
      nextAttempt: isLaunched ? undefined : timestamp(nextMs),
    });
    if (update === undefined) return;
    const isFound = update.type === PROVISIONED && update.status === 'True';
    const isRefused = update.reason === 'CapacityIsNotFound';
    if (!(await this.#writeOutcome(request, update, isFound ? this.#detailsOf(request, plan) : undefined))) return;
    if (isFound) {
      this.#booked.set(uid, true);
      this.#replace(request, requestPods(request, this.#sets.get(key) ?? [], this.#scheduled(key)));
    } else if (update.type !== PROVISIONED) this.#withdraw(key);
    else if (isRefused && !isLaunched) {
      this.#attempts.set(uid, { failures: failures + 1, triedMs: nowMs, nextMs });
      this.#withdraw(key);
    }
    if (isFound || update.type !== PROVISIONED) this.#count(request, update);
  }

  async #recordBooking(request: ProvisioningRequest, outcome: BufferOutcome): Promise<void> {
    const key = requestKey(request);
    const lost = lossOfBooking(request, outcome);
    const nowMs = this.#deps.clock.now();
    const sinceMs = this.#lostMs.get(key) ?? nowMs;
    if (lost === undefined) this.#lostMs.delete(key);
    else this.#lostMs.set(key, sinceMs);
    if (lost === undefined || nowMs - sinceMs < LOST_MS) return;
    await this.#writeOutcome(request, lost);
    this.#count(request, lost);
    this.#withdraw(key);
  }

  #hasClaims(gang: string): boolean {
    const claims = this.#deps.cluster.stores.nodeClaims.list();
    return claims.some((claim) => claim.metadata.deletionTimestamp === undefined && gangIdsOf(claim).includes(gang));
  }

  /** Returns the labels that have the same value on all nodes of the capacity. */
  #detailsOf(request: ProvisioningRequest, plan: Plan | undefined): Readonly<Record<string, string>> {
    const { cluster } = this.#deps;
    const own = new Set(cluster.virtualPods.of(requestGang(request)).map(podKey));
    const placements = (plan?.placements ?? []).filter(({ pods }) => pods.some((pod) => own.has(pod)));
    const labels = placements.map(({ providerId }) => cluster.nodeByProviderId(providerId)?.labels ?? {});
    const common = [NODEPOOL_LABEL, ZONE_LABEL].flatMap((name) => {
      const values = new Set(labels.map((each) => each[name]));
      const [value] = values;
      return values.size === 1 && value !== undefined ? [[name, value] as const] : [];
    });
    return Object.fromEntries(common);
  }

  async #write(request: ProvisioningRequest, update: ConditionUpdate): Promise<void> {
    const { client, clock } = this.#deps;
    const changed = withCondition(request, update, clock.now());
    await writeChanges(
      client,
      PROVISIONING_REQUEST,
      { before: request, after: changed },
      { part: 'status', lock: true },
    );
  }

  /** Writes to the stored version of the object. Returns false if the object does not exist, or was replaced. */
  async #writeOutcome(
    cached: ProvisioningRequest,
    update: ConditionUpdate,
    details: Readonly<Record<string, string>> = {},
  ): Promise<boolean> {
    const { client, clock } = this.#deps;
    const write = async (): Promise<boolean> => {
      const before = await client.get(PROVISIONING_REQUEST, cached.metadata);
      if (uidOf(before) !== uidOf(cached) || phaseOf(before) !== phaseOf(cached)) return false;
      const known = { ...before.status?.provisioningClassDetails, ...details };
      const status = { ...before.status, ...(Object.keys(known).length > 0 && { provisioningClassDetails: known }) };
      const basis = renews(before, update) ? without({ ...before, status }, update.type) : { ...before, status };
      const changed = withCondition(basis, update, clock.now());
      await writeChanges(client, PROVISIONING_REQUEST, { before, after: changed }, { part: 'status', lock: true });
      return true;
    };
    return (await unlessGone(retryWrites(this.#deps, write))) ?? false;
  }

  #count({ spec: { provisioningClassName } }: ProvisioningRequest, { type, reason = type }: ConditionUpdate): void {
    this.#deps.metrics.counter(PROVISIONING_REQUESTS).inc({ class: provisioningClassName, reason });
  }

  /** Publishes on waiting pods that the request provides their capacity. */
  #reportWaiting(): void {
    const { cluster, events } = this.#deps;
    let left = MOST_EVENTS;
    for (const pod of cluster.stores.pods.byIndex(PODS_BY_NODE, '')) {
      const [key] = requestOf(pod);
      if (key === undefined || !isUnschedulable(pod) || !this.#provides(pod)) continue;
      const message = CONSUMES_REQUEST.message(key);
      events.publish(eventOf(CONSUMES_REQUEST, pod, { message, dedupe: [uidOf(pod)] }));
      left -= 1;
      if (left === 0) return;
    }
  }
}

/** Has no back-off, because the readiness of a NodePool opens a run. */
const NO_POOLS: ConditionUpdate = {
  type: PROVISIONED,
  status: 'False',
  reason: 'CapacityIsNotFound',
  message: 'Capacity is not found: no NodePool is ready.',
};

const isSamePod = (pod: Pod, other: Pod | undefined): boolean =>
  pod.metadata.uid === other?.metadata.uid &&
  JSON.stringify(pod.metadata.annotations) === JSON.stringify(other?.metadata.annotations);

/** Returns true if the transition time is set again. The back-off of a new process starts with it. */
function renews(before: ProvisioningRequest, { type, reason, message }: ConditionUpdate): boolean {
  const known = getCondition(before, PROVISIONED);
  if (type !== PROVISIONED) return false;
  return known?.reason !== reason || (reason === 'CapacityIsNotFound' && known?.message !== message);
}

const without = (request: ProvisioningRequest, type: string): ProvisioningRequest => ({
  ...request,
  status: {
    ...request.status,
    conditions: (request.status?.conditions ?? []).filter((condition) => condition.type !== type),
  },
});
