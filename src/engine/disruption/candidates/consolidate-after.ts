/** When a node has been quiet for long enough to be consolidated. */
import { clearCondition, getCondition, NODECLAIM_CONDITIONS, setCondition } from '../../../api/conditions.ts';
import { NEVER, readDurationOrNever } from '../../../api/duration.ts';
import type { NodeClaim } from '../../../api/nodeclaim.ts';
import type { NodePool } from '../../../api/nodepool.ts';
import { timeOf } from '../../../lib/times.ts';

/**
 * What the NodePool says. The CRD requires it within `disruption`; a NodePool that was stored under another, in which it
 * was optional, may lack it, and nobody has asked for consolidation there.
 */
export const consolidateAfterOf = ({ spec: { disruption } }: NodePool): string =>
  disruption === undefined ? '0s' : ((disruption.consolidateAfter as string | undefined) ?? NEVER);

/**
 * Milliseconds until the claim may be consolidated, 0 when it may be now, undefined when time alone will not help:
 * `consolidateAfter` is `Never` or cannot be read, or the node is not initialised.
 */
export function consolidatableIn(claim: NodeClaim, pool: NodePool, nowMs: number): number | undefined {
  const windowMs = readDurationOrNever(consolidateAfterOf(pool)) ?? Number.POSITIVE_INFINITY;
  const initialized = getCondition(claim, 'Initialized');
  if (windowMs === Number.POSITIVE_INFINITY || initialized?.status !== 'True') return undefined;
  const quietSince = timeOf(claim.status?.lastPodEventTime ?? initialized.lastTransitionTime) || 0;
  return windowMs <= 0 ? 0 : Math.max(0, quietSince + windowMs - nowMs);
}

/** Sets or clears the condition Consolidatable. */
export const withConsolidatable = (claim: NodeClaim, pool: NodePool, nowMs: number): NodeClaim =>
  consolidatableIn(claim, pool, nowMs) === 0
    ? setCondition(claim, NODECLAIM_CONDITIONS, { type: 'Consolidatable', status: 'True' }, nowMs)
    : clearCondition(claim, NODECLAIM_CONDITIONS, 'Consolidatable', nowMs);

/** Whether the node is still within its pool's window: consolidation may not move pods onto it. */
export function isUnderConsolidateAfter(claim: NodeClaim, pool: NodePool, nowMs: number): boolean {
  const waitMs = consolidatableIn(claim, pool, nowMs);
  return waitMs !== undefined && waitMs > 0;
}
