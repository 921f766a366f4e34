/** Finds the reason why a NodeClaim has drifted from its NodePool or NodeClass. */
import { isTrue } from '../../api/conditions.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { uidOf } from '../../api/object-fields.ts';
import { lostItsType, poolDrift, TYPE_CHECK_AGE_MS } from '../../engine/drift.ts';
import { monotonicMs } from '../../lib/clock.ts';
import { timeOf } from '../../lib/times.ts';
import type { Deps } from '../deps.ts';

const TYPE_CHECK_INTERVAL_MS = 30 * 60_000;

/** Returns the first drift reason, or undefined. @throws NodeClaimNotFound if the cloud does not find the instance */
type DriftCheck = (claim: NodeClaim, pool: NodePool) => Promise<string | undefined>;

export function driftCheck({ cloud, clock }: Pick<Deps, 'cloud' | 'clock'>): DriftCheck {
  /** Time of the last check by UID, by `monotonicMs`. */
  const verifiedMs = new Map<string, number>();

  async function hasLostItsType(claim: NodeClaim, pool: NodePool): Promise<boolean> {
    const uid = uidOf(claim);
    const ageMs = clock.now() - timeOf(claim.metadata.creationTimestamp);
    const checkedMs = monotonicMs(clock);
    const sinceMs = checkedMs - (verifiedMs.get(uid) ?? Number.NEGATIVE_INFINITY);
    if (ageMs < TYPE_CHECK_AGE_MS || sinceMs < TYPE_CHECK_INTERVAL_MS) return false;
    const types = await cloud.instanceTypes(pool);
    // An empty list means that the NodeClass is deleted or being deleted, so instance types are unknown.
    if (types.length === 0) return false;
    if (lostItsType(claim, types)) return true;
    for (const [known, ms] of verifiedMs) if (checkedMs - ms > TYPE_CHECK_INTERVAL_MS) verifiedMs.delete(known);
    verifiedMs.set(uid, checkedMs);
    return false;
  }

  return async (claim, pool) => {
    if (!isTrue(claim, 'Launched')) return undefined;
    const reason = poolDrift(claim, pool);
    if (reason !== undefined) return reason;
    if (await hasLostItsType(claim, pool)) return 'InstanceTypeNotFound';
    return cloud.isDrifted(claim);
  };
}
