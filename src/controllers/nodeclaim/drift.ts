/** Finds the reason why a NodeClaim has drifted from its NodePool or NodeClass. */
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { uidOf } from '../../api/object-fields.ts';
import { driftReason, lostItsType } from '../../engine/drift.ts';
import { monotonicMs } from '../../lib/clock.ts';
import type { Deps } from '../deps.ts';

const TYPE_CHECK_INTERVAL_MS = 30 * 60_000;

/** Returns the first drift reason, or undefined. @throws NodeClaimNotFound if the cloud does not find the instance */
type DriftCheck = (claim: NodeClaim, pool: NodePool) => Promise<string | undefined>;

export function driftCheck({ cloud, clock }: Pick<Deps, 'cloud' | 'clock'>): DriftCheck {
  /** Time of the last check by UID, by `monotonicMs`. */
  const verifiedMs = new Map<string, number>();

  /** Checks at intervals, because the list of instance types changes rarely. */
  async function hasLostType(claim: NodeClaim, pool: NodePool): Promise<boolean> {
    const uid = uidOf(claim);
    const nowMs = monotonicMs(clock);
    if (nowMs - (verifiedMs.get(uid) ?? Number.NEGATIVE_INFINITY) < TYPE_CHECK_INTERVAL_MS) return false;
    const types = await cloud.instanceTypes(pool);
    // An empty list means that the NodeClass is deleted or being deleted, so instance types are unknown.
    if (types.length === 0) return false;
    if (lostItsType(claim, types)) return true;
    for (const [known, ms] of verifiedMs) if (nowMs - ms > TYPE_CHECK_INTERVAL_MS) verifiedMs.delete(known);
    verifiedMs.set(uid, nowMs);
    return false;
  }

  return (claim, pool) => {
    const checks = { hasLostType: () => hasLostType(claim, pool), nodeClassDrift: () => cloud.isDrifted(claim) };
    return driftReason(claim, pool, checks, clock.now());
  };
}
