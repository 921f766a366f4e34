/** Why a claim no longer is what its NodePool and NodeClass ask for. */
import { isTrue } from '../../api/conditions.ts';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
} from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { uidOf } from '../../api/object-fields.ts';
import { timeOf } from '../../api/times.ts';
import { requirementsOf } from '../../engine/instance-types.ts';
import { LOOSE, Requirements, STRICT } from '../../engine/requirements.ts';
import { ValueSet } from '../../engine/value-set.ts';
import { monotonicMs } from '../../kube/clock.ts';
import type { Deps } from '../deps.ts';

/** Younger claims were bought from a list that is still fresh. */
const TYPE_CHECK_AGE_MS = 60 * 60_000;
const TYPE_CHECK_INTERVAL_MS = 30 * 60_000;

/** Answers the first reason, or undefined. @throws NodeClaimNotFound when the cloud no longer knows the instance */
export type DriftCheck = (claim: NodeClaim, pool: NodePool) => Promise<string | undefined>;

export function driftCheck({ cloud, clock }: Pick<Deps, 'cloud' | 'clock'>): DriftCheck {
  /** By `monotonicMs`. */
  const verifiedMs = new Map<string, number>();

  async function lostItsType(claim: NodeClaim, pool: NodePool): Promise<boolean> {
    const uid = uidOf(claim);
    const ageMs = clock.now() - timeOf(claim.metadata.creationTimestamp);
    const checkedMs = monotonicMs(clock);
    const sinceMs = checkedMs - (verifiedMs.get(uid) ?? Number.NEGATIVE_INFINITY);
    if (ageMs < TYPE_CHECK_AGE_MS || sinceMs < TYPE_CHECK_INTERVAL_MS) return false;
    const types = await cloud.instanceTypes(pool);
    // No list at all: the pool's NodeClass is gone or going, and nothing is known of any type.
    if (types.length === 0) return false;
    const type = types.find(({ name }) => name === claim.metadata.labels?.[INSTANCE_TYPE_LABEL]);
    const wanted = purchasable(claim);
    if (
      !type?.offerings.some((offering) => requirementsOf(offering).compatible(wanted, { allowUndefined: ANY(wanted) }))
    ) {
      return true;
    }
    for (const [known, ms] of verifiedMs) if (checkedMs - ms > TYPE_CHECK_INTERVAL_MS) verifiedMs.delete(known);
    verifiedMs.set(uid, checkedMs);
    return false;
  }

  return async (claim, pool) => {
    if (!isTrue(claim, 'Launched')) return undefined;
    if (hashDiffers(claim, pool)) return 'NodePoolDrifted';
    const required = Requirements.fromRequirements(pool.spec.template.spec.requirements);
    if (!Requirements.fromLabels(claim.metadata.labels).compatible(required, STRICT)) return 'RequirementsDrifted';
    if (await lostItsType(claim, pool)) return 'InstanceTypeNotFound';
    return cloud.isDrifted(claim);
  };
}

/** An offering names few labels; the claim's others do not speak against it. */
const ANY = (requirements: Requirements): ReadonlySet<string> =>
  new Set([...LOOSE.allowUndefined, ...requirements.keys]);

/** Hashes are comparable only when the same version of the algorithm made them. */
function hashDiffers(claim: NodeClaim, pool: NodePool): boolean {
  const of = ({ metadata }: NodeClaim | NodePool) => ({
    hash: metadata.annotations?.[NODEPOOL_HASH_ANNOTATION],
    version: metadata.annotations?.[NODEPOOL_HASH_VERSION_ANNOTATION],
  });
  const [own, wanted] = [of(claim), of(pool)];
  if (own.hash === undefined || wanted.hash === undefined) return false;
  return own.version !== undefined && own.version === wanted.version && own.hash !== wanted.hash;
}

/** The claim's labels as a request; a reservation that ended leaves an on-demand instance behind. */
function purchasable(claim: NodeClaim): Requirements {
  const labels = Requirements.fromLabels(claim.metadata.labels);
  if (claim.metadata.labels?.[CAPACITY_TYPE_LABEL] !== 'reserved') return labels;
  return labels
    .without(CAPACITY_RESERVATION_ID_LABEL, CAPACITY_RESERVATION_TYPE_LABEL, CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL)
    .with(CAPACITY_TYPE_LABEL, ValueSet.in(['reserved', 'on-demand']));
}
