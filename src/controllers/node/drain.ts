/** Selects the next pods to evict from a node: applications before daemons, and critical pods last. */
import type { Pod } from '../../api/kubernetes.ts';
import { isOwnedByDaemonSet, isTerminating, isWaitingForEviction } from '../../engine/pods.ts';
import { needsForceDelete } from './force-delete.ts';

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
