/** Conditions that make a NodeClaim eligible for voluntary disruption: Drifted and Consolidatable. */

import type { NodeClaim, NodePool } from '#api/objects';
import { consolidatableIn, withConsolidatable } from '#engine/disruption';
import { type DriftChecks, driftReason, withDrifted } from '#engine/model';

export interface JudgedClaim {
  /** The NodeClaim with both conditions. NodeClaims of static NodePools have no condition Consolidatable. */
  readonly claim: NodeClaim;
  readonly drift: string | undefined;
  /** Error of the drift check. The condition Drifted is then unchanged, and Consolidatable is still current. */
  readonly error?: unknown;
  /** Time until the NodeClaim is consolidatable. Undefined if this depends on a change of the NodeClaim or its NodePool. */
  readonly consolidatableInMs: number | undefined;
}

interface ClaimChecks extends DriftChecks {
  /** True if the condition Consolidatable is current. */
  readonly isConsolidatableCurrent?: boolean;
}

export async function judgeClaim(
  claim: NodeClaim,
  pool: NodePool,
  checks: ClaimChecks,
  nowMs: number,
): Promise<JudgedClaim> {
  const drift = await driftReason(claim, pool, checks, nowMs).then(
    (reason) => ({ drift: reason, claim: withDrifted(claim, reason, nowMs) }),
    (error: unknown) => ({ drift: undefined, claim, error }),
  );
  if (pool.spec.replicas !== undefined || checks.isConsolidatableCurrent)
    return { ...drift, consolidatableInMs: undefined };
  const consolidatableInMs = consolidatableIn(drift.claim, pool, nowMs);
  return { ...drift, claim: withConsolidatable(drift.claim, pool, nowMs), consolidatableInMs };
}
