/** Computes when a node has been quiet for long enough to be consolidated. */
import {
  clearCondition,
  getCondition,
  NODECLAIM_CONDITIONS,
  type NodeClaim,
  type NodePool,
  setCondition,
} from '#api/objects';
import { NEVER, readDurationOrNever } from '#api/values';
import { timeOf } from '#lib';
import type { EngineClaim } from '../../input.ts';

/**
 * Returns the value from the NodePool. The CRD requires the value within `disruption`. A NodePool that was stored under an older
 * CRD, where the value was optional, may lack it. Such a NodePool does not request consolidation.
 */
export const consolidateAfterOf = ({ spec: { disruption } }: NodePool): string =>
  disruption === undefined ? '0s' : ((disruption.consolidateAfter as string | undefined) ?? NEVER);

/**
 * Returns the milliseconds until the NodeClaim may be consolidated, or 0 if it may be consolidated now. Returns undefined if
 * time alone does not help: `consolidateAfter` is `Never` or not a valid duration, or the node is not initialized.
 */
export function consolidatableIn(claim: EngineClaim, pool: NodePool, nowMs: number): number | undefined {
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

/** Returns true if the node is still within the window of its NodePool. Consolidation must not move pods onto such a node. */
export function isUnderConsolidateAfter(claim: EngineClaim, pool: NodePool, nowMs: number): boolean {
  const waitMs = consolidatableIn(claim, pool, nowMs);
  return waitMs !== undefined && waitMs > 0;
}
