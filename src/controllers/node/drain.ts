/** First step of node termination: drains the node, applications before daemons, and critical pods last. */
import { type Condition, getCondition, isTrue, type Node, type Pod, uidOf } from '#api/objects';
import { needsForceDelete } from '#engine/drain';
import { isOwnedByDaemonSet, isTerminating, isWaitingForEviction } from '#engine/model';
import { timeOf } from '#lib';
import { monotonicMs } from '#lib/clock';
import { errorText } from '#observe/logger';
import { PODS_BY_NODE } from '#state';
import type { Deps } from '../deps.ts';
import { expectInCache, listPodsOnNode } from '../listed-pods.ts';
import { type Evictions, failedDraining } from './eviction-queue.ts';
import { type TerminationProgress, type TerminationStep, withCondition } from './step.ts';

const POLL_MS = 1_000;
/** Minimum duration of a drain, because pods that were scheduled just before the taint may not be visible yet. */
const SHORTEST_DRAIN_MS = 5_000;

/** Time for which a list of the API server confirms a drain. A node that waits for its volumes is confirmed again. */
const CONFIRMED_MS = 10_000;
/** Interval of lists while pods leave that only the API server shows. */
const UNSEEN_POLL_MS = 2_000;

export function draining(deps: Deps, evictions: Evictions): TerminationStep {
  const { clock, cluster, events } = deps;
  const confirm = confirmation(deps);
  return async ({ node, claim, deadlineMs }) => {
    const nowMs = clock.now();
    const begun =
      claim && getCondition(claim, 'Drained') === undefined
        ? withCondition(claim, { type: 'Drained', status: 'Unknown', reason: 'Draining', message: 'Draining' }, nowMs)
        : claim;
    const evict = ({ next, waiting }: DrainPlan, waitMs: number): TerminationProgress => {
      evictions.add(next, deadlineMs);
      events.publish(failedDraining(node, 'waiting', `${waiting} pods are waiting to be evicted`));
      return { claim: begun, waitMs };
    };
    const cached = planDrain(cluster.stores.pods.byIndex(PODS_BY_NODE, node.metadata.name), deadlineMs, nowMs);
    if (cached.waiting > 0) return evict(cached, POLL_MS);
    if (begun && isYoung(getCondition(begun, 'Drained'), nowMs)) return { claim: begun, waitMs: POLL_MS };
    if (begun === undefined || !isTrue(begun, 'InstanceTerminating')) {
      const listed = await confirm(node, deadlineMs);
      if (listed.waiting > 0) return evict(listed, UNSEEN_POLL_MS);
    }
    return { claim: withCondition(begun, { type: 'Drained', status: 'True' }, nowMs) };
  };
}

/**
 * Returns a function that plans the rest of a drain from the pods that the API server lists. The plan is empty if a list has
 * recently confirmed that the node is drained. If the list fails, the drain waits, but not beyond its deadline.
 */
function confirmation(deps: Deps) {
  const { client, clock, cluster, events } = deps;
  /** Times of the last lists without pods to wait for, by UID of the Node and by `monotonicMs`. */
  const confirmedMs = new Map<string, number>();
  cluster.stores.nodes.subscribe((event, node) => {
    if (event === 'deleted') confirmedMs.delete(uidOf(node));
  });
  return async (node: Node, deadlineMs: number): Promise<DrainPlan> => {
    const sinceMs = confirmedMs.get(uidOf(node)) ?? Number.NEGATIVE_INFINITY;
    if (monotonicMs(clock) - sinceMs < CONFIRMED_MS) return DRAINED;
    try {
      const pods = await listPodsOnNode(client, node.metadata.name);
      const plan = planDrain(pods, deadlineMs, clock.now());
      if (plan.waiting === 0) confirmedMs.set(uidOf(node), monotonicMs(clock));
      else expectInCache(deps, pods);
      return plan;
    } catch (error) {
      if (clock.now() > deadlineMs) return DRAINED;
      const obstacle = `its pods cannot be read from the API server: ${errorText(error)}`;
      events.publish(failedDraining(node, 'unread', obstacle));
      throw error;
    }
  };
}

/** Returns true if the drain has just started. A start in the future does not count, because the clock was set back. */
function isYoung(drained: Condition | undefined, nowMs: number): boolean {
  const ageMs = nowMs - timeOf(drained?.lastTransitionTime);
  return drained?.status === 'Unknown' && ageMs >= 0 && ageMs < SHORTEST_DRAIN_MS;
}

interface DrainPlan {
  /** Pods to evict or delete now. */
  readonly next: readonly Pod[];
  /** Number of pods that block the drain, including pods of later tiers. */
  readonly waiting: number;
}

const DRAINED: DrainPlan = { next: [], waiting: 0 };

const CRITICAL: ReadonlySet<string> = new Set(['system-cluster-critical', 'system-node-critical']);

/** Returns the tier of a pod. Lower tiers are evicted first. Uses the name of the priority class, not its number. */
function drainTier(pod: Pod): number {
  const isCritical = CRITICAL.has(pod.spec.priorityClassName ?? '');
  return (isCritical ? 2 : 0) + (isOwnedByDaemonSet(pod) ? 1 : 0);
}

/**
 * Plans the next step of a drain from the pods bound to a node. Pods that must be gone by the deadline are included regardless
 * of their tier. The remaining pods are included only if they belong to the first tier with pods, until this tier is empty.
 */
export function planDrain(pods: readonly Pod[], deadlineMs: number, nowMs: number): DrainPlan {
  const waiting = pods.filter((pod) => isWaitingForEviction(pod, nowMs));
  const force = waiting.filter((pod) => needsForceDelete(pod, deadlineMs, nowMs));
  const graceful = waiting.filter((pod) => !needsForceDelete(pod, deadlineMs, nowMs));
  const first = Math.min(...graceful.map(drainTier));
  // a terminating pod blocks the completion of its tier but needs no further request
  const tier = graceful.filter((pod) => drainTier(pod) === first && !isTerminating(pod));
  return { next: [...force, ...tier], waiting: waiting.length };
}
