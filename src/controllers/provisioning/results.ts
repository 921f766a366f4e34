/** Measures provisioning runs, and reports their results to users and to the cluster state. */

import { randomUUID } from 'node:crypto';
import { isTrue, type KubeObject, NODEPOOL_LABEL, type Pod, uidOf } from '#api/objects';
import { UNSUPPORTED } from '#engine/devices';
import { refusalMessage, refusalNote } from '#engine/explanations';
import {
  type IdlePool,
  isScheduled,
  type LeftOut,
  type Plan,
  type PodRefusal,
  podKey,
  type Snapshot,
  type SolveOptions,
  type StateNode,
  type UnpackedPool,
} from '#engine/model';
import { solve } from '#engine/solve';
import { monotonicMs } from '#lib/clock';
import { eventOf, FAILED_SCHEDULING, LEFT_OUT, NO_COMPATIBLE_INSTANCE_TYPES, POD_HELD } from '#observe/events';
import type { Logger } from '#observe/logger';
import {
  DEVICE_ALLOCATION_TIMEOUTS,
  PODS_SCHEDULING_DECISION_DURATION_SECONDS,
  SCHEDULER_DEVICE_ALLOCATION_DURATION_SECONDS,
  SCHEDULER_IGNORED_PODS_COUNT,
  SCHEDULER_PENDING_PODS_BY_EFFECTIVE_ZONE_COUNT,
  SCHEDULER_PREFERENCES,
  SCHEDULER_QUEUE_DEPTH,
  SCHEDULER_SCHEDULING_DURATION_SECONDS,
  SCHEDULER_UNFINISHED_WORK_SECONDS,
  SCHEDULER_UNPACKED_NODEPOOLS,
  SCHEDULER_UNSCHEDULABLE_PODS_COUNT,
} from '#observe/metrics';
import { idleNodePools, launchOptions, nominateNode, pendingPods, placedPods } from '#planner';
import type { ClusterState } from '#state';
import type { Deps } from '../deps.ts';
import { publishNominated } from '../nomination.ts';

export interface Solved {
  readonly plan: Plan;
  /**
   * Existing pods of the snapshot, by namespaced name. Excludes pods of capacity buffers, because they get no events and no
   * nodes.
   */
  readonly pods: ReadonlyMap<string, Pod>;
  /** Pods that can belong to gangs: the existing pods and the pods of ProvisioningRequests. */
  readonly gangPods: ReadonlyMap<string, Pod>;
  /** Input of the solve. */
  readonly snapshot: Snapshot;
  readonly options: SolveOptions;
  /** Start and end of the solve, by the clock's time. */
  readonly solve: { readonly fromMs: number; readonly toMs: number };
}

interface Recorded extends Solved {
  /** Returns true if the node should not wait for the pod any longer. */
  readonly isOverdue: (pod: Pod, node: StateNode) => boolean;
}

/** Records results that need no new NodeClaims, except refusals: placements on existing or launching nodes, and problems. */
export function recordResults(deps: Deps, solved: Recorded, log: Logger): void {
  reportLeftOut(deps, solved.plan.leftOut ?? [], log);
  const { allocation } = solved.plan;
  if (allocation !== undefined) {
    deps.metrics.histogram(SCHEDULER_DEVICE_ALLOCATION_DURATION_SECONDS).observe(CONTROLLER, allocation.ms / 1000);
    if (allocation.expired > 0) deps.metrics.counter(DEVICE_ALLOCATION_TIMEOUTS).inc({}, allocation.expired);
  }
  for (const pool of solved.plan.unpacked ?? []) recordUnpacked(deps, pool, log);
  if (solved.plan.preferences?.omitted !== undefined) log.warn(solved.plan.preferences.omitted);
  recordPlacements(deps, solved, log);
  recordEmptyPools(deps, solved.plan, log);
  recordTimings(deps, solved);
}

function recordUnpacked({ metrics }: Deps, { nodePool, reason, text }: UnpackedPool, log: Logger): void {
  metrics.counter(SCHEDULER_UNPACKED_NODEPOOLS).inc({ reason });
  const fields = { ...(nodePool !== undefined && { NodePool: { name: nodePool } }), reason, error: text };
  log.warn('could not pack pods at a lower price, launching the nodes of first-fit', fields);
}

/** Returns true if the refusal concerns the user. */
function isShown(refusal: PodRefusal): boolean {
  if (refusal.code === 'reserved-capacity') return false;
  return refusal.code !== 'ignored' || !refusal.optedOut;
}

export function publishRefusal({ events }: Pick<Deps, 'events'>, pod: Pod, refusal: PodRefusal | undefined): void {
  if (refusal === undefined || !isShown(refusal)) return;
  const message = FAILED_SCHEDULING.message(refusalNote(pod.metadata, refusal));
  events.publish(eventOf(FAILED_SCHEDULING, pod, { message, dedupe: [uidOf(pod)] }));
}

/** Reports whether a NodePool would launch a node for the pod if earlier launches had not failed. */
export const isWithheld = (refusal: PodRefusal): boolean =>
  refusal.code === 'no-fit' && refusal.pools.some(({ misfit }) => misfit.code === 'launch-withheld');

/** Publishes on a pod until when no node is launched for it, and why. */
export function publishHeld({ events }: Pick<Deps, 'events'>, pod: Pod, until: string, text: string): void {
  const message = POD_HELD.message(until, text);
  events.publish(eventOf(POD_HELD, pod, { message, dedupe: [uidOf(pod)] }));
}

const SKIPPED = 'skipping pod with Dynamic Resource Allocation requirements, not yet supported by Karpenter';

/** Publishes refusals on their pods, and logs them. */
export function recordRefusals(
  deps: Pick<Deps, 'events'>,
  refusals: ReadonlyMap<string, PodRefusal>,
  { pods, log }: Pick<Solved, 'pods'> & { readonly log: Logger },
): void {
  const deferred: string[] = [];
  for (const [key, refusal] of refusals) {
    const pod = pods.get(key);
    if (pod === undefined) continue;
    publishRefusal(deps, pod, refusal);
    const fields = {
      Pod: { name: pod.metadata.name, namespace: pod.metadata.namespace },
      error: refusalMessage(refusal),
    };
    if (refusal.code === 'reserved-capacity') deferred.push(key);
    else if (refusal.text === UNSUPPORTED) log.info(SKIPPED, { Pod: fields.Pod });
    else if (refusal.code === 'ignored') log.debug('ignoring pod', fields);
    // `LaunchBudget` reported the start of the hold
    else if (isWithheld(refusal)) log.debug('launches for pod are held back', fields);
    else log.error('could not schedule pod', fields);
  }
  if (deferred.length === 0) return;
  log.debug(
    'deferring scheduling decision for provisionable pod(s) to future simulation due to limited reserved offering capacity',
    { Pods: deferred },
  );
}

function recordPlacements(deps: Deps, { plan, pods, isOverdue }: Recorded, log: Logger): void {
  const unready = { nodes: 0, pods: 0 };
  for (const { node, pods: placed } of placedPods(plan, deps.cluster, (key) => pods.get(key))) {
    const awaited = placed.filter((pod) => !isOverdue(pod, node));
    if (awaited.length > 0) nominateNode(deps, node);
    if (!node.initialized) {
      unready.nodes += 1;
      unready.pods += placed.length;
    }
    for (const pod of awaited) publishNominated(deps, pod, node);
  }
  if (unready.nodes > 0) log.info('computed unready node(s) will fit pod(s)', unready);
}

function recordEmptyPools({ cluster, events }: Deps, plan: Plan, log: Logger): void {
  for (const { nodePool, dueToMinValues } of plan.emptyPools) {
    const pool = cluster.stores.nodePools.get({ name: nodePool });
    if (pool === undefined) continue;
    log.info('skipping, nodepool requirements filtered out all instance types', { NodePool: { name: nodePool } });
    const message = NO_COMPATIBLE_INSTANCE_TYPES.message(dueToMinValues);
    events.publish(eventOf(NO_COMPATIBLE_INSTANCE_TYPES, pool, { message, dedupe: [uidOf(pool)] }));
  }
}

/** Refuses all pods, because no NodePool takes part. These refusals count as decisions too. */
export function refuseAll(
  deps: Deps,
  pods: Solved['pods'],
  idle: readonly IdlePool[],
): Pick<Solved, 'plan' | 'pods' | 'snapshot' | 'options'> {
  const none = { nodes: [], daemonPods: [], namespaces: [], podDisruptionBudgets: [] };
  const noVolumes = { persistentVolumeClaims: [], persistentVolumes: [], storageClasses: [] };
  const idleParts = { idlePools: idle, idleNodePools: idleNodePools(deps.cluster, idle) };
  const pending = { nowMs: deps.clock.now(), pools: [], ...idleParts, pendingPods: [...pods.values()] };
  const snapshot: Snapshot = { ...pending, ...none, ...noVolumes };
  const options = { ...launchOptions(deps.settings), explain: true };
  const plan = solve(snapshot, options);
  recordTimings(deps, { plan, pods });
  return { plan, pods, snapshot, options };
}

interface Decided extends Pick<Solved, 'pods'> {
  readonly plan: Pick<Plan, 'claims' | 'placements' | 'refusals'>;
}

function recordTimings({ cluster, clock, metrics }: Deps, { plan, pods }: Decided): void {
  const { podTimings, stores } = cluster;
  const decisions = metrics.histogram(PODS_SCHEDULING_DECISION_DURATION_SECONDS);
  const observe = (decisionMs: number | undefined): void => {
    if (decisionMs !== undefined) decisions.observe(decisionMs / 1000);
  };
  /**
   * Returns a pod if it still exists. The state of a pod that was deleted during the solve was removed. A new entry would stay,
   * or apply to another pod with the same name.
   */
  const present = (key: string): Pod | undefined => {
    const pod = pods.get(key);
    return pod && stores.pods.get(pod.metadata)?.metadata.uid === pod.metadata.uid ? pod : undefined;
  };
  const place = (keys: readonly string[], poolName: string | undefined): void => {
    const pool = poolName ? stores.nodePools.get({ name: poolName }) : undefined;
    const healthy = pool !== undefined && isTrue(pool, 'NodeRegistrationHealthy');
    for (const key of keys) {
      const pod = present(key);
      if (pod && !isScheduled(pod)) observe(podTimings.placed(key, healthy, clock.now()));
    }
  };
  for (const key of plan.refusals.keys()) if (present(key)) observe(podTimings.refused(key, clock.now()));
  for (const claim of plan.claims) place(claim.pods, claim.nodePool);
  for (const { pods: keys, providerId } of plan.placements) {
    place(keys, cluster.nodeByProviderId(providerId)?.labels[NODEPOOL_LABEL]);
  }
}

const CONTROLLER = { controller: 'provisioner' };

export interface ProvisioningMeasures {
  /** Starts the timer of a run. The run must call the returned function at its end. */
  started(): () => void;
  /**
   * Starts the timer of a solve. Until the caller calls the returned function, metrics show the number of pods to place and the
   * elapsed time.
   */
  solving(podCount: number): () => void;
  /** Records the refusals of a plan. Each scrape counts the refusals that still apply. */
  count(plan: Plan): void;
}

export function provisioningMeasures({
  clock,
  cluster,
  metrics,
}: Pick<Deps, 'clock' | 'cluster' | 'metrics'>): ProvisioningMeasures {
  const duration = metrics.histogram(SCHEDULER_SCHEDULING_DURATION_SECONDS);
  const depth = metrics.gauge(SCHEDULER_QUEUE_DEPTH);
  const unfinished = metrics.gauge(SCHEDULER_UNFINISHED_WORK_SECONDS);
  const zones = metrics.gauge(SCHEDULER_PENDING_PODS_BY_EFFECTIVE_ZONE_COUNT);
  const preferences = metrics.gauge(SCHEDULER_PREFERENCES);
  const ignored = metrics.gauge(SCHEDULER_IGNORED_PODS_COUNT);
  const unschedulable = metrics.gauge(SCHEDULER_UNSCHEDULABLE_PODS_COUNT);
  let refused: readonly (readonly [pod: string, refusal: PodRefusal])[] = [];
  /** Start time of each running solve, by id. */
  const running = new Map<string, number>();
  metrics.beforeScrape(() => {
    const waiting = pendingPods(cluster);
    // a deleted or scheduled pod starts no run that could update the counts
    if (waiting.length === 0) {
      zones.reset();
      preferences.reset();
    }
    const present = new Set([...waiting, ...cluster.virtualPods.list()].map(podKey));
    const codes = refused.filter(([pod]) => present.has(pod)).map(([, { code }]) => code);
    ignored.set(codes.filter((code) => code === 'ignored').length);
    unschedulable.set(CONTROLLER, codes.filter((code) => code !== 'ignored' && code !== 'reserved-capacity').length);
    for (const [id, startedMs] of running) {
      unfinished.set({ ...CONTROLLER, scheduling_id: id }, (monotonicMs(clock) - startedMs) / 1000);
    }
  });
  const started = (): (() => void) => {
    const startedMs = monotonicMs(clock);
    return () => duration.observe(CONTROLLER, (monotonicMs(clock) - startedMs) / 1000);
  };

  return {
    started,
    solving: (podCount) => {
      const labels = { ...CONTROLLER, scheduling_id: randomUUID() };
      const finished = started();
      running.set(labels.scheduling_id, monotonicMs(clock));
      depth.set(labels, podCount);
      return () => {
        finished();
        running.delete(labels.scheduling_id);
        // a finished solve must not leave series
        depth.remove(labels);
        unfinished.remove(labels);
      };
    },
    count: (plan) => {
      refused = [...plan.refusals];
      zones.reset();
      countPreferences(plan, metrics);
      for (const [zone, count] of plan.effectiveZones ?? []) zones.set({ ...CONTROLLER, zone }, count);
    },
  };
}

function countPreferences({ preferences }: Plan, metrics: Deps['metrics']): void {
  const gauge = metrics.gauge(SCHEDULER_PREFERENCES);
  gauge.reset();
  if (preferences === undefined) return;
  const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
  const satisfied = sum(preferences.groups.map((group) => group.satisfied));
  gauge.set({ outcome: 'satisfied' }, satisfied);
  gauge.set({ outcome: 'relaxed' }, sum(preferences.groups.map(({ wanted }) => wanted)) - satisfied);
}

/** Publishes an event on each object and logs it. */
function reportLeftOut(
  { cluster, events }: Pick<Deps, 'cluster' | 'events'>,
  objects: readonly LeftOut[],
  log: Logger,
): void {
  for (const object of objects) {
    const { kind, namespace, name, text } = object;
    const named = namespace === undefined ? { name } : { namespace, name };
    log.error('ignoring an invalid object', { [kind]: named, error: text });
    const found = objectOf(cluster, object);
    if (found === undefined) continue;
    const dedupe = [found.metadata.uid ?? name, text];
    events.publish(eventOf(LEFT_OUT, found, { message: LEFT_OUT.message(text), dedupe }));
  }
}

function objectOf({ stores }: ClusterState, { kind, ...ref }: LeftOut): KubeObject | undefined {
  switch (kind) {
    case 'NodePool':
      return stores.nodePools.get(ref);
    case 'Node':
      return stores.nodes.get(ref);
    case 'DaemonSet':
      return stores.daemonSets.get(ref);
    case 'Pod':
      return stores.pods.get(ref);
  }
}
