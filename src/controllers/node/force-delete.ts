/** Rules of the terminationGracePeriod: the time from which a pod must not delay the deletion of its node. */
import type { Pod } from '../../api/kubernetes.ts';

/**
 * Returns true if a pod must be deleted without the Eviction API, so that its node can be gone by the deadline.
 * A pod is deleted early enough to have its own full grace period before the deadline. A terminating pod is deleted again if it
 * would take longer than the deadline.
 */
export function needsForceDelete(pod: Pod, deadlineMs: number, nowMs: number): boolean {
  if (!Number.isFinite(deadlineMs)) return false;
  const { deletionTimestamp } = pod.metadata;
  // the deletion timestamp already includes the pod's grace period
  if (deletionTimestamp !== undefined) return Date.parse(deletionTimestamp) > deadlineMs;
  const graceSeconds = pod.spec.terminationGracePeriodSeconds;
  return graceSeconds !== undefined && nowMs > deadlineMs - graceSeconds * 1_000;
}

/**
 * Returns true if deleting a pod now would end it sooner. Returns false for a terminating pod that ends within the time that it
 * would get.
 */
export function canEndSooner({ metadata }: Pod, deadlineMs: number, nowMs: number): boolean {
  if (metadata.deletionTimestamp === undefined) return true;
  return Date.parse(metadata.deletionTimestamp) > nowMs + grantedSeconds(deadlineMs, nowMs) * 1_000;
}

/**
 * Returns the remaining seconds for a pod: whole seconds until the deadline, but at least one. Zero would skip the shutdown of
 * the pod.
 */
export const grantedSeconds = (deadlineMs: number, nowMs: number): number =>
  Math.max(1, Math.floor((deadlineMs - nowMs) / 1_000));
