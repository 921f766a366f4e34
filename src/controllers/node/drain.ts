/** Which pods leave a node next: applications before daemons, critical ones last. */
import type { Pod } from '../../api/kubernetes.ts';
import { isOwnedByDaemonSet, isTerminating, isWaitingForEviction } from '../../engine/pods.ts';
import { needsForceDelete } from './force-delete.ts';

interface DrainPlan {
  /** Pods to ask or force off the node now. */
  readonly next: readonly Pod[];
  /** Number of pods that are in the way of the drain, those of later tiers included. */
  readonly waiting: number;
}

const CRITICAL: ReadonlySet<string> = new Set(['system-cluster-critical', 'system-node-critical']);

/** Lower goes first. By the name of the priority class, not its number. */
function drainTier(pod: Pod): number {
  const isCritical = CRITICAL.has(pod.spec.priorityClassName ?? '');
  return (isCritical ? 2 : 0) + (isOwnedByDaemonSet(pod) ? 1 : 0);
}

/**
 * Plans the next step of a drain from the pods bound to a node. Pods that must be gone by the deadline go at once,
 * whatever their tier; of the others only the first tier that has any, until it is gone completely.
 */
export function planDrain(pods: readonly Pod[], deadlineMs: number, nowMs: number): DrainPlan {
  const waiting = pods.filter((pod) => isWaitingForEviction(pod, nowMs));
  const force = waiting.filter((pod) => needsForceDelete(pod, deadlineMs, nowMs));
  const graceful = waiting.filter((pod) => !needsForceDelete(pod, deadlineMs, nowMs));
  const first = Math.min(...graceful.map(drainTier));
  // a terminating pod keeps its tier from being finished, but there is nothing more to ask of it
  const tier = graceful.filter((pod) => drainTier(pod) === first && !isTerminating(pod));
  return { next: [...force, ...tier], waiting: waiting.length };
}
