/**
 * Deadline of a deleted NodeClaim with a terminationGracePeriod, and the time from which a pod must not delay the deletion of its
 * node.
 */
import { type NodeClaim, type Pod, TERMINATION_TIMESTAMP_ANNOTATION } from '#api/objects';

/** Time format of Kubernetes. `Date.parse` alone would read `5` as a date in the past, and all pods would be deleted. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

/**
 * Returns the deadline in milliseconds since the epoch, Infinity if there is no deadline, or NaN if the deadline is not valid.
 */
export function readDeadline(claim: NodeClaim | undefined): number {
  const text = claim?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION];
  if (text === undefined) return Number.POSITIVE_INFINITY;
  return RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
}

/**
 * Returns the deadline like `readDeadline`.
 * @throws Error if the annotation is not a valid time
 */
export function deadlineOf(claim: NodeClaim | undefined): number {
  const deadlineMs = readDeadline(claim);
  if (!Number.isNaN(deadlineMs)) return deadlineMs;
  throw new Error(
    `Cannot drain the node of NodeClaim "${claim?.metadata.name}": its annotation ` +
      `${TERMINATION_TIMESTAMP_ANNOTATION} is "${claim?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION]}" ` +
      'and must be a time, for example 2026-01-31T10:11:12Z',
  );
}

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
