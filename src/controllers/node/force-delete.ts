/** When a pod may no longer hold up its node: rules of the terminationGracePeriod. */
import type { Pod } from '../../api/kubernetes.ts';

/**
 * Whether a pod must be deleted without asking anybody, so that its node can be gone by the deadline.
 *
 * A pod is deleted early enough to have its own full grace period before the deadline; one that is terminating already
 * is deleted again if it would take longer than the deadline.
 */
export function needsForceDelete(pod: Pod, deadlineMs: number, nowMs: number): boolean {
  if (!Number.isFinite(deadlineMs)) return false;
  const { deletionTimestamp } = pod.metadata;
  // the deletion timestamp already includes the pod's grace period
  if (deletionTimestamp !== undefined) return Date.parse(deletionTimestamp) > deadlineMs;
  const graceSeconds = pod.spec.terminationGracePeriodSeconds;
  return graceSeconds !== undefined && nowMs > deadlineMs - graceSeconds * 1_000;
}

/** Whether deleting a pod now would end it sooner: not one that is ending already, with no more time than it would get. */
export function canEndSooner({ metadata }: Pod, deadlineMs: number, nowMs: number): boolean {
  if (metadata.deletionTimestamp === undefined) return true;
  return Date.parse(metadata.deletionTimestamp) > nowMs + grantedSeconds(deadlineMs, nowMs) * 1_000;
}

/** Seconds that a pod still gets: whole ones until the deadline, but never none, which would skip its shutdown. */
export const grantedSeconds = (deadlineMs: number, nowMs: number): number =>
  Math.max(1, Math.floor((deadlineMs - nowMs) / 1_000));
