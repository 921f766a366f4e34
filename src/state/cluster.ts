/**
 * State of the cluster beyond single objects: nodes joined with their claims and pods, claims that were just created, nominations
 * and deletion marks. Data of the API server is derived from the informers' stores. A restart therefore loses only the marks, and
 * the components that set the marks restore them.
 */

import { LRUCache } from 'lru-cache';
import {
  type CapacityQuota,
  isTrue,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  type NodePool,
  nodeNameOf,
  type Pod,
  READY,
  TERMINATION_FINALIZER,
  type TopologySpreadConstraint,
} from '#api/objects';
import {
  addResources,
  countsTowardLimits,
  type DefaultSpread,
  type GangGroup,
  hasOtherSuccessor,
  type InstanceType,
  isUnschedulable,
  largestCapacity,
  nodeCapacities,
  type Preemption,
  podKey,
  preemptionFor,
  type Resources,
  type ResourceTemplate,
  readableRequests,
  type StateNode,
  sameResources,
  withSuccessor,
} from '#engine/model';
import type { Informers, Store } from '#kube/client';
import { sameItems } from '#lib';
import { monotonicMs, type Timepiece } from '#lib/clock';
import { watchDefaultSpread } from './default-spread.ts';
import { type DeviceStores, openDeviceStores } from './devices/device-stores.ts';
import { watchGangGroups } from './gang-groups.ts';
import { JobFailures } from './job-failures.ts';
import { LaunchFailures } from './launch-failures.ts';
import { NamedCounter } from './named-counter.ts';
import { NamedItems } from './named-items.ts';
import { providerIdOf, stateNode } from './node.ts';
import { Observation } from './observation.ts';
import { PauseState } from './pause-state.ts';
import { PodTemplates } from './pod-templates.ts';
import { PodTimings } from './pod-timings.ts';
import { RegistrationHealth } from './registration-health.ts';
import {
  ATTACHMENTS_BY_NODE,
  CLAIMS_BY_NODE_POOL,
  CLAIMS_BY_PROVIDER_ID,
  NODES_BY_PROVIDER_ID,
  openQuotas,
  openStores,
  PODS_BY_NODE,
  type Stores,
} from './stores.ts';
import { UnlaunchedClaims } from './unlaunched.ts';
import { VirtualPods } from './virtual-pods.ts';

export interface ClusterOptions {
  readonly informers: Informers;
  readonly clock: Timepiece;
  /** Returns true if the cloud provider serves NodeClasses of this kind. Claims with other NodeClasses are ignored. */
  readonly manages: (nodeClass: { readonly group: string; readonly kind: string }) => boolean;
  /** Topology spread constraints for pods that declare none. */
  readonly defaultSpread?: readonly TopologySpreadConstraint[];
  /** Returns the template of the controller of a pod. Default: `ClusterState.templates`, which a controller fills. */
  readonly templateOf?: (pod: Pod) => ResourceTemplate | undefined;
  /** True if claims of dynamic resources count. Default false. */
  readonly devices?: boolean;
  /** True if CapacityQuotas hold. Default false. */
  readonly quotas?: boolean;
  /** True if no decision is carried out. Default false. */
  readonly observes?: boolean;
  /** True if PodGroups and Workloads are read. Default false. */
  readonly gangGroups?: boolean;
}

/** Minimum change of the clock's difference that counts as a set clock. Smaller changes are drift. */
const SET_MS = 1_000;
/** Maximum age of a consolidation memo. After this time, consolidation is evaluated again even without a recorded change. */
const MEMO_MS = 5 * 60_000;
/** Maximum number of remembered deletions. */
const MOST_REASONS = 10_000;
/** Maximum number of pods whose NodeClaim is remembered. A pod that is forgotten can get another node. */
const MOST_NOMINATED = 10_000;

const NO_GROUPS: ReadonlyMap<string, GangGroup> = new Map();

export class ClusterState {
  readonly stores: Stores;
  readonly podTimings = new PodTimings();
  readonly jobFailures = new JobFailures();
  readonly launchFailures = new LaunchFailures();
  readonly registrationHealth = new RegistrationHealth();
  readonly pause: PauseState;
  readonly observation: Observation;
  /** Claims of static NodePools that were approved and do not exist yet, by NodePool. */
  readonly reservedNodes = new NamedCounter(() => this.changed());
  /** Templates of the controllers of resized pods. */
  readonly templates = new PodTemplates((nodeNames) => {
    for (const nodeName of nodeNames) this.#stalePods(nodeName);
    this.markChanged();
  });
  /** NodeClaims whose creation is requested, by NodePool. */
  readonly creations = new NamedItems<NodeClaim>();
  /** Gangs that objects declare, by id. Empty if these objects are not read. */
  gangGroups: () => ReadonlyMap<string, GangGroup> = () => NO_GROUPS;
  /** Returns true if a ProvisioningRequest provides the capacity of the pod. */
  usesRequest: (pod: Pod) => boolean = () => false;
  readonly virtualPods = new VirtualPods(() => this.changed());
  readonly unlaunched: UnlaunchedClaims;
  /** Receives every NodeClaim that this process creates, with the namespaced names of the pods that it is for. */
  onCreated: (claim: NodeClaim, pods: readonly string[]) => void = () => undefined;
  /** Reasons of deletions of NodeClaims by this process, by name of the NodeClaim. */
  readonly deletionReasons = new LRUCache<string, string>({ max: MOST_REASONS });
  /** Kinds of the interruptions by AWS for which NodeClaims were deleted, by name of the NodeClaim. */
  readonly interruptions = new LRUCache<string, string>({ max: MOST_REASONS });
  /** Undefined if dynamic resources are ignored. */
  /** UIDs of pods on leaving nodes whose Deployment has been restarted. Pending pods replace them. */
  readonly surged = new LRUCache<string, true>({ max: MOST_REASONS });
  readonly devices: DeviceStores | undefined;
  /** Names of the NodeClaims that the last decisions chose for pods with resource claims, by UID of the pod. */
  readonly nominatedClaims = new LRUCache<string, string>({ max: MOST_NOMINATED });
  /** Returns undefined if no default constraints are configured. */
  readonly defaultSpread: () => DefaultSpread | undefined;

  readonly #clock: Timepiece;
  readonly #quotas: Store<CapacityQuota> | undefined;
  #revision = 0;
  readonly #manages: ClusterOptions['manages'];
  readonly #templateOf: (pod: Pod) => ResourceTemplate | undefined;
  readonly #nodes = new Map<string, StateNode>();
  /** Provider ids whose pods changed since their state node was built. */
  readonly #stale = new Set<string>();
  #list: readonly StateNode[] | undefined;
  /** Totals of the last list of nodes, by NodePool, and of the previous list. */
  #totals: { readonly nodes: readonly StateNode[]; readonly byPool: Totals; readonly before: Totals } | undefined;
  /** Claims that this process created and the store does not contain yet, by name. */
  readonly #inFlight = new Map<string, { readonly claim: NodeClaim; readonly sinceMs: number }>();
  readonly #marks = new Set<string>();
  /** Ends of nominations by `monotonicMs`. The time of the clock is `#aheadMs` ahead of `monotonicMs`. */
  readonly #nominations = new Map<string, number>();
  #aheadMs: number;
  #bufferPods: ReadonlyMap<string, number> = new Map();
  #changedMs: number;

  constructor({
    informers,
    clock,
    manages,
    templateOf,
    defaultSpread = [],
    devices = false,
    quotas = false,
    observes = false,
    gangGroups = false,
  }: ClusterOptions) {
    this.#clock = clock;
    this.pause = new PauseState(clock);
    this.unlaunched = new UnlaunchedClaims(clock);
    this.#manages = manages;
    this.#templateOf = templateOf ?? this.templates.of;
    this.#aheadMs = clock.now() - monotonicMs(clock);
    this.#changedMs = monotonicMs(clock);
    this.stores = openStores(informers);
    this.observation = new Observation(this.stores, clock, observes);
    this.defaultSpread = watchDefaultSpread(informers, defaultSpread, () => this.changed());
    if (gangGroups) this.gangGroups = watchGangGroups(informers, () => this.changed());
    this.devices = devices ? openDeviceStores(informers) : undefined;
    this.#quotas = quotas ? openQuotas(informers) : undefined;
    this.#quotas?.subscribe((_, quota, before) => {
      this.changed();
      if (quota.metadata.generation !== before?.metadata.generation) this.markChanged();
    });
    const listed: readonly Pick<Store<never>, 'subscribe'>[] = Object.values(this.stores);
    const optional: readonly Pick<Store<never>, 'subscribe'>[] = Object.values(this.devices ?? {});
    for (const store of [...listed, ...optional]) store.subscribe(() => this.changed());
    const { nodes, nodeClaims, pods, nodePools, nodePolicies, csiNodes, volumeAttachments } = this.stores;
    nodes.subscribe((_, node, before) => {
      if (before) this.#nodeChanged(before);
      this.#nodeChanged(node);
    });
    nodeClaims.subscribe((event, claim, before) => {
      if (before) this.#rebuild(before.status?.providerID);
      this.#claimChanged(claim, event === 'deleted');
    });
    pods.subscribe((event, pod, before) => this.#podChanged(event === 'deleted', pod, before));
    csiNodes.subscribe((_, csiNode) => this.#stalePods(csiNode.metadata.name));
    volumeAttachments.subscribe((_, { spec }) => this.#stalePods(spec.nodeName));
    nodePolicies.subscribe((_, policy, before) => {
      if (policy.metadata.generation !== before?.metadata.generation) this.markChanged();
    });
    nodePools.subscribe((event, pool, before) => {
      // A NodePool is not ready for a moment after each edit. A search that failed without it may succeed with it.
      if (event !== 'updated' || before === undefined || isOther(pool, before)) this.markChanged();
    });
  }

  /**
   * Returns true if a decision may be based on this state: the first lists are complete, and no launch is in progress. Claims
   * with an overdue launch do not block decisions: see `UnlaunchedClaims`.
   */
  synced(): boolean {
    const { pods, nodes, nodeClaims, nodePools, daemonSets } = this.stores;
    const stores: readonly Pick<Store<never>, 'synced'>[] = [pods, nodes, nodeClaims, nodePools, daemonSets];
    const isSettled = this.#inFlight.size === 0 && !this.unlaunched.isAwaited && this.virtualPods.isKnown();
    return isSettled && stores.every((store) => store.synced);
  }

  /** CapacityQuotas that hold. */
  quotas(): readonly CapacityQuota[] {
    return this.#quotas?.list() ?? [];
  }

  /**
   * Increases with every change of the results of this object, and at least every five minutes. If two revisions are equal, only
   * time has passed: nominations may have ended, or launches may be overdue.
   */
  get revision(): number {
    this.#followTime();
    this.consolidationState();
    return this.#revision;
  }

  /** Records a change that no store reports, such as the start or end of a disruption command. */
  changed(): void {
    this.#revision++;
  }

  /** Returns every node, managed or not, and every claim with an instance. Callers share the objects and must not change them. */
  nodes(): readonly StateNode[] {
    this.#followTime();
    for (const providerId of this.#stale) this.#rebuild(providerId);
    this.#stale.clear();
    this.#list ??= [...this.#nodes.values()];
    return this.#list;
  }

  nodeByProviderId(providerId: string): StateNode | undefined {
    this.#followTime();
    if (this.#stale.delete(providerId)) this.#rebuild(providerId);
    return this.#nodes.get(providerId);
  }

  nodeByName(nodeName: string): StateNode | undefined {
    const node = this.stores.nodes.get({ name: nodeName });
    const providerId = node && providerIdOf(node);
    return providerId === undefined ? undefined : this.nodeByProviderId(providerId);
  }

  /** Returns the preemption on its nominated node that the pod waits for, or undefined. */
  preemptionFor(pod: Pod): Preemption | undefined {
    const { nominatedNodeName } = pod.status ?? {};
    return nominatedNodeName ? preemptionFor(pod, this.nodeByName(nominatedNodeName), this.#clock.now()) : undefined;
  }

  /**
   * Returns true if a node may be launched for the pod: kube-scheduler found no node, preempts no pods for this pod, and no
   * ProvisioningRequest provides its capacity.
   */
  readonly isProvisionable = (pod: Pod): boolean =>
    isUnschedulable(pod) && this.preemptionFor(pod) === undefined && !this.usesRequest(pod);

  nodeOfClaim(claim: NodeClaim): StateNode | undefined {
    return claim.status?.providerID ? this.nodeByProviderId(claim.status.providerID) : undefined;
  }

  /** Returns a claim by name. Includes claims that this process created and the store does not contain yet. */
  claim(name: string): NodeClaim | undefined {
    return this.stores.nodeClaims.get({ name }) ?? this.#inFlight.get(name)?.claim;
  }

  /** Returns the managed claims of a NodePool. Includes claims that this process created and the store does not contain yet. */
  claimsOfPool(nodePool: string): readonly NodeClaim[] {
    const shown = this.stores.nodeClaims.byIndex(CLAIMS_BY_NODE_POOL, nodePool);
    const created = [...this.#inFlight.values()].map(({ claim }) => claim);
    return [
      ...shown,
      ...created.filter(
        ({ metadata }) =>
          metadata.labels?.[NODEPOOL_LABEL] === nodePool && this.stores.nodeClaims.get(metadata) === undefined,
      ),
    ].filter((claim) => this.#manages(claim.spec.nodeClassRef));
  }

  /**
   * Returns the Nodes with a claim's provider id. Normally this is one Node after the node has joined. Several Nodes indicate an
   * error.
   */
  nodesOfClaim(claim: NodeClaim): readonly Node[] {
    const providerId = claim.status?.providerID;
    return providerId ? this.stores.nodes.byIndex(NODES_BY_PROVIDER_ID, providerId) : [];
  }

  /** Returns the managed claims with a node's provider id. */
  claimsOfNode(node: Node): readonly NodeClaim[] {
    const providerId = node.spec?.providerID;
    if (!providerId) return [];
    return this.stores.nodeClaims
      .byIndex(CLAIMS_BY_PROVIDER_ID, providerId)
      .filter((claim) => this.#manages(claim.spec.nodeClassRef));
  }

  manages(nodeClass: { readonly group: string; readonly kind: string }): boolean {
    return this.#manages(nodeClass);
  }

  /** Tracks a claim from its creation until the store contains it, and the pods of the claim until it is launched. */
  track(claim: NodeClaim, pods: readonly string[] = []): void {
    this.changed();
    this.unlaunched.created(claim.metadata.name, pods);
    this.onCreated(claim, pods);
    if (this.stores.nodeClaims.get({ name: claim.metadata.name })?.metadata.uid === claim.metadata.uid) return;
    this.#inFlight.set(claim.metadata.name, { claim, sinceMs: monotonicMs(this.#clock) });
  }

  /** Removes a tracked claim that no longer exists. */
  untrack(name: string): void {
    this.changed();
    this.#inFlight.delete(name);
    this.unlaunched.forget(name);
  }

  /** Returns the names of claims that have been tracked for at least `ms` and that the store does not contain yet. */
  trackedLongerThan(ms: number): readonly string[] {
    const limitMs = monotonicMs(this.#clock) - ms;
    return [...this.#inFlight].filter(([, { sinceMs }]) => sinceMs <= limitMs).map(([name]) => name);
  }

  /** Nominates a node for pending pods for some time. A nomination protects the node from disruption. */
  nominate(providerId: string, forMs: number): void {
    this.#nominations.set(providerId, monotonicMs(this.#clock) + forMs);
    this.#rebuild(providerId);
  }

  /** Rebuilds nominated nodes if the clock was set, because nominations are reported as times of the clock. */
  #followTime(): void {
    const aheadMs = this.#clock.now() - monotonicMs(this.#clock);
    if (Math.abs(aheadMs - this.#aheadMs) < SET_MS) return;
    this.#aheadMs = aheadMs;
    for (const providerId of [...this.#nominations.keys()]) this.#rebuild(providerId);
  }

  /** Marks nodes for deletion. A marked node accepts no pods, and the scheduler provides other capacity for its pods. */
  markForDeletion(...providerIds: readonly string[]): void {
    for (const providerId of providerIds) {
      this.#marks.add(providerId);
      this.#rebuild(providerId);
    }
  }

  unmarkForDeletion(...providerIds: readonly string[]): void {
    for (const providerId of providerIds) {
      this.#marks.delete(providerId);
      this.#rebuild(providerId);
    }
  }

  /** Sets the numbers of virtual capacity-buffer pods that the last solve placed on existing nodes. */
  setBufferPods(counts: ReadonlyMap<string, number>): void {
    const touched = new Set([...this.#bufferPods.keys(), ...counts.keys()]);
    this.#bufferPods = counts;
    for (const providerId of touched) this.#rebuild(providerId);
  }

  /**
   * Returns a value for the last change that could make a consolidation possible. Equal values mean that no such change occurred.
   */
  consolidationState(): number {
    const nowMs = monotonicMs(this.#clock);
    if (nowMs - this.#changedMs >= MEMO_MS) this.markChanged();
    return this.#changedMs;
  }

  /** Records a change that could make a consolidation possible. */
  markChanged(): void {
    this.changed();
    // The value must differ after each change, even if the clock does not advance between two changes.
    this.#changedMs = Math.max(monotonicMs(this.#clock), this.#changedMs + 1);
  }

  /** Returns the capacity of a NodePool's nodes that are not marked for deletion. The resource `nodes` is their number. */
  poolTotals(nodePool: string): Resources {
    const nodes = this.nodes();
    if (this.#totals?.nodes !== nodes)
      this.#totals = { nodes, byPool: new Map(), before: this.#totals?.byPool ?? new Map() };
    const { byPool, before } = this.#totals;
    const known = byPool.get(nodePool);
    if (known !== undefined) return known.sum;
    const of: Resources[] = [];
    for (const node of nodes)
      if (node.labels[NODEPOOL_LABEL] === nodePool && !node.markedForDeletion) of.push(node.capacity);
    // most changes concern only the pods of the nodes
    const last = before.get(nodePool);
    const sum = last !== undefined && sameItems(last.of, of) ? last.sum : addResources(...of);
    byPool.set(nodePool, { of, sum });
    return sum;
  }

  /**
   * Returns the amounts of a NodePool's limits that are not free: the capacity of all nodes, also of nodes that are being
   * removed, and the largest capacity of NodeClaims without an instance, also of those that are being created.
   *
   * @param isFree true for a node that does not count
   */
  poolCommitment(
    nodePool: string,
    types: readonly InstanceType[],
    isFree: (node: StateNode) => boolean = () => false,
  ): Resources {
    const nowMs = this.#clock.now();
    const launching = [...this.launchingOf(nodePool), ...this.creations.of(nodePool)];
    return addResources(
      ...nodeCapacities(
        nodePool,
        this.nodes().filter((node) => countsTowardLimits(node, nowMs) && !isFree(node)),
      ),
      ...launching.map((claim) => largestCapacity(claim, types)),
    );
  }

  /** Returns the NodeClaims of a NodePool that have no instance yet. */
  launchingOf(nodePool: string): readonly NodeClaim[] {
    return this.claimsOfPool(nodePool).filter((claim) => !claim.status?.providerID && !isLetGo(claim));
  }

  #nodeChanged(node: Node): void {
    this.#rebuild(providerIdOf(node) ?? node.spec?.providerID);
  }

  #claimChanged(claim: NodeClaim, deleted: boolean): void {
    const { name } = claim.metadata;
    this.#inFlight.delete(name);
    const waits = !claim.status?.providerID && !isLetGo(claim) && this.#manages(claim.spec.nodeClassRef);
    if (waits && !deleted) this.unlaunched.put(claim);
    else this.unlaunched.forget(name);
    this.#rebuild(claim.status?.providerID);
    if (deleted) this.markChanged();
  }

  #podChanged(deleted: boolean, pod: Pod, before: Pod | undefined): void {
    if (deleted) {
      this.podTimings.forget(podKey(pod));
      this.markChanged();
    }
    this.jobFailures.podChanged(deleted, pod, before);
    this.templates.podChanged(deleted, pod);
    const [now, then] = [nodeNameOf(pod), before?.spec.nodeName ?? ''];
    if (!deleted && now !== '' && (now !== then || (before && isResized(pod, before)))) this.markChanged();
    this.#stalePods(now);
    if (then !== now) this.#stalePods(then);
  }

  #stalePods(nodeName: string): void {
    const node = nodeName === '' ? undefined : this.stores.nodes.get({ name: nodeName });
    const providerId = node && providerIdOf(node);
    if (providerId === undefined) return;
    this.#stale.add(providerId);
    this.#list = undefined;
  }

  #rebuild(providerId: string | undefined): void {
    if (!providerId) return;
    this.changed();
    this.#list = undefined;
    const before = this.#nodes.get(providerId);
    const built = this.#build(providerId);
    if (built) this.#nodes.set(providerId, built);
    else {
      this.#nodes.delete(providerId);
      this.#marks.delete(providerId);
      this.#nominations.delete(providerId);
    }
    const same = before?.initialized === built?.initialized && before?.markedForDeletion === built?.markedForDeletion;
    if (!same || (before === undefined) !== (built === undefined)) this.markChanged();
  }

  /** Adds the requests of successors. Returns the same list if no pod was resized, because results are cached by list. */
  #withSuccessors(pods: readonly Pod[]): readonly Pod[] {
    const found = pods.map((pod) => (hasOtherSuccessor(pod) ? withSuccessor(pod, this.#templateOf(pod)) : pod));
    return sameItems(found, pods) ? pods : found;
  }

  #build(providerId: string): StateNode | undefined {
    const { nodes, nodeClaims, pods, csiNodes, volumeAttachments } = this.stores;
    const nodeClaim = nodeClaims
      .byIndex(CLAIMS_BY_PROVIDER_ID, providerId)
      .find((claim) => this.#manages(claim.spec.nodeClassRef));
    const named = nodes.get({ name: providerId });
    const found = [...nodes.byIndex(NODES_BY_PROVIDER_ID, providerId), ...(named ? [named] : [])].filter(
      (each) => providerIdOf(each) === providerId,
    );
    // another Node with this provider ID must not hide the node and its pods
    const node = found.find(({ metadata }) => metadata.name === nodeClaim?.status?.nodeName) ?? found[0];
    if (!node && !nodeClaim) return undefined;
    const nominatedUntilMs = this.#nominations.get(providerId);
    return stateNode({
      providerId,
      node,
      nodeClaim,
      pods: node ? this.#withSuccessors(pods.byIndex(PODS_BY_NODE, node.metadata.name)) : [],
      csiNode: node && csiNodes.get({ name: node.metadata.name }),
      volumeAttachments: node ? volumeAttachments.byIndex(ATTACHMENTS_BY_NODE, node.metadata.name) : [],
      marked: this.#marks.has(providerId),
      nominatedUntilMs: nominatedUntilMs === undefined ? 0 : Math.round(nominatedUntilMs + this.#aheadMs),
      bufferPods: this.#bufferPods.get(providerId) ?? 0,
    });
  }
}

/** Returns true if the requests of a pod changed. Pods that share their containers also share their requests. */
function isResized(pod: Pod, before: Pod): boolean {
  const [now, then] = [readableRequests(pod), readableRequests(before)];
  return now !== then && !sameResources(now, then);
}

/** Sums of capacities with their summands, by NodePool. */
type Totals = Map<string, { readonly of: readonly Resources[]; readonly sum: Resources }>;

/** Returns true if an update of a NodePool may permit the disruption of nodes that were blocked before. */
const isOther = (pool: NodePool, before: NodePool): boolean =>
  pool.metadata.generation !== before.metadata.generation || isTrue(pool, READY) !== isTrue(before, READY);

/**
 * Returns true if a claim is being deleted and can no longer get an instance, even if other finalizers remain. The operator
 * requests launches only while its own finalizer is set, and this finalizer stays until the instance is gone.
 */
const isLetGo = ({ metadata }: NodeClaim): boolean =>
  metadata.deletionTimestamp !== undefined && !(metadata.finalizers ?? []).includes(TERMINATION_FINALIZER);
