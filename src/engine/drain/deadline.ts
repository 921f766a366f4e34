/** When the node of a deleted claim has to be gone: the annotation that a terminationGracePeriod leads to. */
import { TERMINATION_TIMESTAMP_ANNOTATION } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';

/** As Kubernetes writes times. `Date.parse` alone would take `5` for a day of the past, and all pods would be deleted. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

/** Milliseconds since the epoch; Infinity without a deadline, NaN for one that is no time. */
export function readDeadline(claim: NodeClaim | undefined): number {
  const text = claim?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION];
  if (text === undefined) return Number.POSITIVE_INFINITY;
  return RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
}

/** As `readDeadline`. @throws Error when the annotation is no time */
export function deadlineOf(claim: NodeClaim | undefined): number {
  const deadlineMs = readDeadline(claim);
  if (!Number.isNaN(deadlineMs)) return deadlineMs;
  throw new Error(
    `Cannot drain the node of NodeClaim "${claim?.metadata.name}": its annotation ` +
      `${TERMINATION_TIMESTAMP_ANNOTATION} is "${claim?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION]}" ` +
      'and must be a time such as 2026-01-31T10:11:12Z',
  );
}
