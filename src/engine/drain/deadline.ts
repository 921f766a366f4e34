/** Reads the termination deadline of a deleted NodeClaim, from the annotation that its terminationGracePeriod causes. */
import { TERMINATION_TIMESTAMP_ANNOTATION } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';

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
      'and must be a time such as 2026-01-31T10:11:12Z',
  );
}
