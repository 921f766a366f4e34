/** First step of node termination: drains the node, applications before daemons, and critical pods last. */
import { getCondition } from '../../api/conditions.ts';
import type { Condition, Pod } from '../../api/kubernetes.ts';
import { needsForceDelete } from '../../engine/drain/deadline.ts';
import { isOwnedByDaemonSet, isTerminating, isWaitingForEviction } from '../../engine/pods.ts';
import { timeOf } from '../../lib/times.ts';
import { PODS_BY_NODE } from '../../state/stores.ts';
import type { Deps } from '../deps.ts';
import { type Evictions, failedDraining } from './eviction-queue.ts';
import { type TerminationStep, withCondition } from './step.ts';

const POLL_MS = 1_000;
/** Minimum duration of a drain, because pods that were scheduled just before the taint may not be visible yet. */
const SHORTEST_DRAIN_MS = 5_000;

export function draining({ clock, cluster, events }: Deps, evictions: Evictions): TerminationStep {
  return ({ node, claim, deadlineMs }) => {
    const nowMs = clock.now();
    const begun =
      claim && getCondition(claim, 'Drained') === undefined
        ? withCondition(claim, { type: 'Drained', status: 'Unknown', reason: 'Draining', message: 'Draining' }, nowMs)
        : claim;
    const pods = cluster.stores.pods.byIndex(PODS_BY_NODE, node.metadata.name);
    const { next, waiting } = planDrain(pods, deadlineMs, nowMs);
    evictions.add(next, deadlineMs);
    if (waiting > 0) {
      events.publish(failedDraining(node, 'waiting', `${waiting} pods are waiting to be evicted`));
      return { claim: begun, waitMs: POLL_MS };
    }
    if (begun && isYoung(getCondition(begun, 'Drained'), nowMs)) return { claim: begun, waitMs: POLL_MS };
    return { claim: withCondition(begun, { type: 'Drained', status: 'True' }, nowMs) };
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
