/**
 * Watches the outcome of every launch of every origin: pending pods, pods of leaving nodes, capacity buffers, static
 * NodePools and replacements. See docs/decisions/0050.
 */

import { LRUCache } from 'lru-cache';
import { isTrue, type NodeClaim, type Pod, poolNameOf, uidOf } from '#api/objects';
import { podsOfLeavingNodes } from '#engine/disruption';
import { isActive, isScheduled, namespaceOf, podKey, type StateNode, type Volumes } from '#engine/model';
import { causeKey, isVirtual, type LaunchCause } from '#engine/solve';
import { refOf } from '#kube/client';
import { timeOf } from '#lib';
import { monotonicMs } from '#lib/clock';
import { pendingPods } from '#planner';
import { likenessOf } from '#state';
import type { Deps } from '../deps.ts';
import { suitability, unexplained } from './lacks.ts';
import { affects, type Unproductive } from './pool-budget.ts';
import { publishBoughtInVain, publishNotBound } from './unbound-pods.ts';
import { volumeReader } from './volume-reader.ts';

/** kube-scheduler has this long, from the node's initialization on, to bind the pod. */
const GRACE_MS = 30_000;
/** A suitable node without a pod counts as unproductive after this time from its initialization on. */
const UNUSED_MS = 10 * 60_000;
/** Pods that are gone may come back, under another name or with other requests, for this long. */
const FORGOTTEN_MS = 5 * 60_000;
/** Launches that are watched. Beyond this number, the oldest are forgotten. */
const MOST_WATCHED = 10_000;
/** Reasons of deletions before the initialization that do not count against the launch, or only without an edit. */
const INTERRUPTED = 'interrupted';
const SURPLUS = 'surplus';
const REGISTRATION_TIMEOUT = 'registration_timeout';
export const NOT_NEEDED = 'not_needed';
/** The reason of a deletion may become known shortly after the deletion. */
const SETTLING_MS = 1_000;
/** By reason of the deletion, as the operator counts it. */
const ENDS: Readonly<Record<string, string>> = {
  expired: 'its expireAfter',
  garbage_collected: 'the termination of its instance outside the operator',
  [SURPLUS]: 'the end of the command that it was a replacement for',
  unhealthy: 'node repair',
};
const BY_OTHERS = 'another client of the API server';

/** NodeClaim from its creation until its outcome is known and, if it was unproductive, until it is gone. */
export interface Launch {
  readonly name: string;
  readonly nodePool: string;
  /** By `monotonicMs`. */
  readonly createdMs: number;
  /** One pod of each likeness that the node is for, until the outcome for the likeness is known. */
  readonly pods: Map<string, Pod>;
  readonly isForPods: boolean;
  /** UIDs of the pods that the NodeClaim was created for, by namespaced name, without bound pods. Undefined if unknown. */
  readonly unbound: Map<string, string> | undefined;
  readonly namespaces: ReadonlySet<string>;
  /** Generation of the NodePool at the creation. */
  readonly generation: number | undefined;
  /** Latest version, the deleted one included. */
  claim: NodeClaim;
  /** Latest state of the registered node. */
  node?: StateNode;
  initializedMs?: number;
  departedMs?: number | undefined;
  /** Key of the cause for which it was counted. */
  unproductive?: string;
  usdPerHour?: number;
  /** True once a pod is bound to the node. */
  isUsed?: boolean;
  /** True once the launch was counted because its pods were deleted. */
  isAbandoned?: boolean;
}

/** Receives the outcomes of launches. */
export interface Outcomes {
  initialized(launch: Launch): void;
  /** The node serves a pod, or keeps room for a virtual one. */
  served(launch: Launch, pod: Pod): void;
  failed(launch: Launch, unproductive: Unproductive): void;
  /** The first pod is bound to the node. */
  used(launch: Launch): void;
  /** The pods of the launch were deleted before the node was used. */
  abandoned(launch: Launch): void;
  /** The NodeClaim of an unproductive launch is gone. */
  ended(launch: Launch): void;
  /** Launches were forgotten because there are too many. */
  forgotten(launch: Launch): void;
}

/** State of the pods at one moment, for all launches. */
interface Look {
  /** Pods that need a place, by likeness. */
  readonly waiting: ReadonlyMap<string, readonly Pod[]>;
  readonly volumes: () => Volumes;
}

export class Launches {
  readonly #deps: Deps;
  readonly #outcomes: Outcomes;
  readonly #watched: LRUCache<string, Launch>;
  /** Time of the last launch by likeness of its pods. */
  readonly #lastMs = new LRUCache<string, number>({ max: MOST_WATCHED });

  constructor(deps: Deps, outcomes: Outcomes) {
    this.#deps = deps;
    this.#outcomes = outcomes;
    this.#watched = new LRUCache({
      max: MOST_WATCHED,
      dispose: (launch, _, reason) => {
        if (reason === 'evict') outcomes.forgotten(launch);
      },
    });
    const { cluster } = deps;
    cluster.onCreated = (claim, pods) => this.#created(claim, pods);
    cluster.stores.nodeClaims.subscribe((_, claim) => {
      const launch = this.#watched.peek(claim.metadata.name);
      if (launch === undefined) return;
      launch.claim = claim;
      if (isTrue(claim, 'Initialized')) this.#observeInitialized(launch);
    });
    cluster.stores.pods.subscribe((event, pod, before) => {
      const isBound = event !== 'deleted' && isScheduled(pod) && !(before !== undefined && isScheduled(before));
      if (isBound && this.#watched.size > 0) this.#bound(pod);
    });
  }

  /** Names of the NodePools with launches that are watched. */
  nodePools(): ReadonlySet<string> {
    return new Set([...this.#watched.values()].map(({ nodePool }) => nodePool));
  }

  /** Launches of a NodePool that are not judged yet. */
  *openOf(nodePool: string): Generator<Launch> {
    for (const launch of this.#watched.values())
      if (launch.nodePool === nodePool && launch.unproductive === undefined) yield launch;
  }

  /** Returns launches that were counted for the cause, until their NodeClaims are gone. */
  *unproductiveOf(nodePool: string, key: string): Generator<Launch> {
    for (const launch of this.#watched.values())
      if (launch.nodePool === nodePool && launch.unproductive === key) yield launch;
  }

  /** Returns true if a pod of the NodeClaim still waits, or if the pods of the NodeClaim are not known. */
  isNeeded(name: string): boolean {
    const { unbound } = this.#watched.peek(name) ?? {};
    return unbound === undefined || [...unbound].some(([key, uid]) => this.#isWaiting(key, uid));
  }

  #isWaiting(key: string, uid: string): boolean {
    const pod = this.#deps.cluster.stores.pods.get(refOf(key));
    return pod !== undefined && uidOf(pod) === uid && isActive(pod);
  }

  /** Counts launches for deleted pods. If all pods were bound to other nodes, the launch does not count. */
  countAbandoned(): void {
    for (const launch of this.#watched.values()) {
      if (launch.isUsed || launch.isAbandoned || !launch.unbound?.size || this.isNeeded(launch.name)) continue;
      launch.isAbandoned = true;
      this.#outcomes.abandoned(launch);
    }
  }

  /**
   * Returns launches without a node that their own pods do not need. A node that has joined may have pods before it is
   * registered, also pods of this launch.
   */
  unneeded(): readonly Launch[] {
    const { cluster } = this.#deps;
    return [...this.#watched.values()].filter(
      ({ name, claim }) =>
        !claim.metadata.deletionTimestamp &&
        !isTrue(claim, 'Registered') &&
        cluster.nodesOfClaim(claim).length === 0 &&
        !this.isNeeded(name),
    );
  }

  /** Returns the time of the last launch for pods of the likeness, by `monotonicMs`. */
  lastLaunchMs(likeness: string): number {
    return this.#lastMs.get(likeness) ?? Number.NEGATIVE_INFINITY;
  }

  /** Judges each launch if its outcome is known. */
  judge(): void {
    this.countAbandoned();
    if (this.#watched.size === 0) return;
    const { cluster } = this.#deps;
    const look: Look = {
      waiting: Map.groupBy(podsWithoutNode(this.#deps), likenessOf),
      volumes: volumeReader(cluster),
    };
    for (const launch of [...this.#watched.values()]) this.#look(launch, look);
  }

  #created(claim: NodeClaim, keys: readonly string[]): void {
    const { cluster, clock } = this.#deps;
    const virtual = new Map(cluster.virtualPods.list().map((pod) => [podKey(pod), pod]));
    const pods = keys.flatMap((key) => cluster.stores.pods.get(refOf(key)) ?? virtual.get(key) ?? []);
    const { name } = claim.metadata;
    const createdMs = monotonicMs(clock);
    for (const pod of pods) this.#lastMs.set(likenessOf(pod), createdMs);
    // an evicted pod is replaced by a pod with another name, and virtual pods change with the pods of their buffer
    const areKnown = pods.length > 0 && !pods.some((pod) => isScheduled(pod) || isVirtual(pod));
    this.#watched.set(name, {
      name,
      nodePool: poolNameOf(claim),
      claim,
      createdMs,
      pods: new Map(pods.map((pod) => [likenessOf(pod), pod])),
      isForPods: keys.length > 0,
      unbound: areKnown ? new Map(pods.map((pod) => [podKey(pod), uidOf(pod)])) : undefined,
      namespaces: new Set(pods.map(namespaceOf)),
      generation: this.#generationOf(poolNameOf(claim)),
    });
  }

  #isPoolEnding(nodePool: string): boolean {
    return this.#deps.cluster.stores.nodePools.get({ name: nodePool })?.metadata.deletionTimestamp !== undefined;
  }

  #generationOf(nodePool: string): number | undefined {
    return this.#deps.cluster.stores.nodePools.get({ name: nodePool })?.metadata.generation;
  }

  /** A pod that is bound to a launched node shows that its NodePool's nodes can be used. */
  #bound(pod: Pod): void {
    const { cluster } = this.#deps;
    const key = podKey(pod);
    const node = cluster.nodeByName(pod.spec.nodeName ?? '');
    // a node that the cache does not have yet can be the node of this launch
    if (node !== undefined) this.#watched.peek(cluster.podTimings.get(key).nodeClaim ?? '')?.unbound?.delete(key);
    const claim = node?.nodeClaim;
    const launch = claim && this.#watched.peek(claim.metadata.name);
    if (launch === undefined) return;
    if (!launch.isUsed && launch.isForPods) this.#outcomes.used(launch);
    launch.isUsed = true;
    this.#outcomes.served(launch, pod);
    // the pod may be gone before the next judgement
    launch.pods.delete(likenessOf(pod));
    // the node was judged too early, or its cause is gone
    if (launch.unproductive !== undefined) this.#watched.delete(launch.name);
  }

  /** Records the initialization when it happens, because the NodeClaim may be deleted before the next judgement. */
  #observeInitialized(launch: Launch): void {
    if (launch.initializedMs !== undefined) return;
    launch.initializedMs = monotonicMs(this.#deps.clock);
    this.#outcomes.initialized(launch);
  }

  #look(launch: Launch, look: Look): void {
    const { cluster, clock } = this.#deps;
    const { name } = launch;
    const claim = cluster.claim(name);
    if (launch.unproductive !== undefined) {
      if (claim !== undefined) return;
      this.#outcomes.ended(launch);
      return void this.#watched.delete(name);
    }
    const node = claim && cluster.nodeOfClaim(claim);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined || node?.markedForDeletion) {
      launch.departedMs ??= monotonicMs(clock);
      if (this.#settleDeparted(launch, look) && launch.unproductive === undefined) this.#watched.delete(name);
      return;
    }
    // a command of disruption may have been rolled back
    launch.departedMs = undefined;
    if (node?.registered) launch.node = node;
    if (!node?.initialized) return;
    this.#observeInitialized(launch);
    for (const likeness of [...launch.pods.keys()]) {
      if (!this.#settle(launch, likeness, look)) continue;
      launch.pods.delete(likeness);
      if (launch.unproductive !== undefined) return;
    }
    if (launch.pods.size === 0) this.#watched.delete(name);
  }

  /** Returns whether the outcome for the pods of a likeness is known. */
  #settle(launch: Launch, likeness: string, { waiting, volumes }: Look): boolean {
    const { initializedMs = 0, node } = launch;
    const sample = launch.pods.get(likeness);
    if (node === undefined || sample === undefined) return true;
    const alike = waiting.get(likeness);
    const pod = alike?.[0] ?? sample;
    const ageMs = monotonicMs(this.#deps.clock) - initializedMs;
    if (holdsAlike(node, likeness)) return this.#served(launch, sample);
    const fit = suitability(pod, node, volumes);
    if (fit.kind === 'lacking') {
      const affected = alike?.[0] ?? affectedAmong(waiting, fit.cause);
      if (affected === undefined) return ageMs >= FORGOTTEN_MS;
      if (ageMs < GRACE_MS) return false;
      return this.#failed(launch, { affected, sample, node }, fit);
    }
    if (isVirtual(pod)) return this.#served(launch, pod);
    if (alike === undefined) return ageMs >= FORGOTTEN_MS;
    if (fit.kind === 'taken') return true;
    if (ageMs < GRACE_MS || isScheduled(pod)) return false;
    if (ageMs < UNUSED_MS || fit.kind !== 'free' || !this.#hasWaitedSince(initializedMs, pod)) {
      this.#publish(pod, node, unexplained(pod));
      return false;
    }
    const cause: LaunchCause = { code: 'not-used', likeness };
    return this.#failed(launch, { affected: pod, sample, node }, { cause, text: unexplained(pod) });
  }

  /** Judges a node that is gone or is being deleted. Returns whether the outcome is known. */
  #settleDeparted(launch: Launch, { waiting, volumes }: Look): boolean {
    const { node, initializedMs, departedMs = 0 } = launch;
    for (const [likeness, sample] of node === undefined ? [] : launch.pods) {
      if (node === undefined || holdsAlike(node, likeness)) continue;
      const alike = waiting.get(likeness)?.[0];
      const fit = suitability(alike ?? sample, node, volumes);
      const affected = alike ?? (fit.kind === 'lacking' ? affectedAmong(waiting, fit.cause) : undefined);
      if (affected === undefined) continue;
      if (fit.kind === 'lacking') return this.#failed(launch, { affected, sample, node }, fit);
      if (fit.kind !== 'free' || !this.#wasWaiting(launch, affected)) continue;
      const cause: LaunchCause = { code: 'not-used', likeness };
      return this.#failed(launch, { affected, sample, node }, { cause, text: unexplained(affected) });
    }
    if (initializedMs === undefined) return this.#settleEndedEarly(launch, waiting);
    return launch.pods.size === 0 || monotonicMs(this.#deps.clock) - departedMs >= FORGOTTEN_MS;
  }

  /** Reports whether disruption removed the node although the pod waited for it. A pod that was created later did not wait. */
  #wasWaiting({ initializedMs, claim, departedMs = 0 }: Launch, pod: Pod): boolean {
    if (initializedMs === undefined || !isTrue(claim, 'DisruptionReason')) return false;
    if (isVirtual(pod) || isScheduled(pod)) return false;
    return this.#hasWaitedSince(departedMs, pod);
  }

  /** Returns true if the pod existed at a time by `monotonicMs`. A pod that was created later may just be starting. */
  #hasWaitedSince(ms: number, pod: Pod): boolean {
    const { clock } = this.#deps;
    return timeOf(pod.metadata.creationTimestamp) <= clock.now() - (monotonicMs(clock) - ms);
  }

  #settleEndedEarly(launch: Launch, waiting: Look['waiting']): boolean {
    const { cluster, clock } = this.#deps;
    const { claim, isForPods, name, departedMs = 0 } = launch;
    if (monotonicMs(clock) - departedMs < SETTLING_MS) return false;
    const reason = cluster.deletionReasons.get(name);
    if (!isTrue(claim, 'Launched') || (isForPods && waiting.size === 0)) return true;
    if (this.#isPoolEnding(launch.nodePool)) return true;
    // fewer replicas are an edit; without one, the operator gave up a replacement that did not join
    const isScaledDown = reason === SURPLUS && this.#generationOf(launch.nodePool) !== launch.generation;
    if (reason === INTERRUPTED || reason === NOT_NEEDED || isScaledDown) return true;
    if (reason === REGISTRATION_TIMEOUT) {
      const text = `the instance of nodeclaim/${name} did not register`;
      return this.#count(launch, { cause: { code: 'never-joined' }, text }, '');
    }
    const by = (reason === undefined ? undefined : ENDS[reason]) ?? reason ?? BY_OTHERS;
    const text = `nodeclaim/${name} was terminated before its node was initialized, by ${by}`;
    return this.#count(launch, { cause: { code: 'terminated', by }, text }, '');
  }

  #served(launch: Launch, pod: Pod): true {
    this.#outcomes.served(launch, pod);
    return true;
  }

  /** @param sample pod that the node was launched for @param affected pod that waits, of any namespace */
  #failed(
    launch: Launch,
    { affected, sample, node }: { readonly affected: Pod; readonly sample: Pod; readonly node: StateNode },
    what: Pick<Unproductive, 'cause' | 'text'>,
  ): true {
    if (!isVirtual(affected)) this.#publish(affected, node, what.text);
    return this.#count(launch, what, namespaceOf(sample));
  }

  #count(launch: Launch, what: Pick<Unproductive, 'cause' | 'text'>, namespace: string): true {
    launch.unproductive = causeKey(what.cause);
    this.#outcomes.failed(launch, { ...what, namespace, createdMs: launch.createdMs });
    return true;
  }

  #publish(pod: Pod, node: StateNode, text: string): void {
    publishNotBound(this.#deps, pod, node, text);
    publishBoughtInVain(this.#deps, pod, node, text);
  }
}

/** Pods that need a place on a node: pending pods, pods of leaving nodes, and virtual pods. */
export function podsWithoutNode({ cluster, clock }: Pick<Deps, 'cluster' | 'clock'>): readonly Pod[] {
  const budgets = cluster.stores.podDisruptionBudgets.list();
  const leaving = podsOfLeavingNodes(cluster.nodes(), budgets, clock.now()).filter(
    (pod) => !cluster.surged.has(uidOf(pod)),
  );
  return [...pendingPods(cluster), ...leaving, ...cluster.virtualPods.list()];
}

const affectedAmong = (waiting: Look['waiting'], cause: LaunchCause): Pod | undefined =>
  [...waiting.values()].flat().find((pod) => affects(cause, pod));

const holdsAlike = ({ pods }: StateNode, likeness: string): boolean => pods.some((pod) => likenessOf(pod) === likeness);
