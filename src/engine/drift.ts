/** Detects that a NodeClaim has drifted from its NodePool, as far as the objects and the instance types show this. */

import { NODEPOOL_HASH_VERSION, nodePoolHash } from '#api/hashes';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  clearCondition,
  getCondition,
  INSTANCE_TYPE_LABEL,
  isTrue,
  NODECLAIM_CONDITIONS,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  type NodeClaim,
  type NodePool,
  setCondition,
} from '#api/objects';
import { remembering, timeOf, tryRun } from '#lib';
import { requirementsOf } from './instance-types.ts';
import { MAINTENANCE_PLANNED } from './maintenance.ts';
import type { InstanceType } from './model.ts';
import { LOOSE, Requirements, STRICT } from './requirements.ts';
import { ValueSet } from './value-set.ts';

/** Minimum age for the check of the instance type. Younger NodeClaims were launched from a list of types that is still fresh. */
const TYPE_CHECK_AGE_MS = 60 * 60_000;

/** Returns the NodePool with its drift hash, or undefined if a value of its template is not valid. */
export function withHash(pool: NodePool): NodePool | undefined {
  const hash = tryRun(() => nodePoolHash(pool));
  if (hash === undefined) return undefined;
  const annotations = {
    ...pool.metadata.annotations,
    [NODEPOOL_HASH_ANNOTATION]: hash,
    [NODEPOOL_HASH_VERSION_ANNOTATION]: NODEPOOL_HASH_VERSION,
  };
  return { ...pool, metadata: { ...pool.metadata, annotations } };
}

const hasOldHash = ({ metadata }: NodeClaim | NodePool): boolean =>
  metadata.annotations?.[NODEPOOL_HASH_VERSION_ANNOTATION] !== NODEPOOL_HASH_VERSION;

/**
 * Returns the NodeClaim in its state after the hash of its NodePool is written. If the NodePool gets its first hash of this
 * version, its NodeClaims with another version get the same hash. A drifted NodeClaim keeps its old hash, because a new one
 * would hide the drift.
 */
export function adopted(claim: NodeClaim, pool: NodePool): NodeClaim {
  const hash = hasOldHash(pool) && hasOldHash(claim) ? withHash(pool)?.metadata.annotations : undefined;
  const value = hash?.[NODEPOOL_HASH_ANNOTATION];
  if (value === undefined) return claim;
  const annotations = {
    ...claim.metadata.annotations,
    [NODEPOOL_HASH_VERSION_ANNOTATION]: NODEPOOL_HASH_VERSION,
    ...(getCondition(claim, 'Drifted') ? {} : { [NODEPOOL_HASH_ANNOTATION]: value }),
  };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

/** Sets the condition Drifted if there is a reason. Otherwise clears the condition. */
export function withDrifted(claim: NodeClaim, reason: string | undefined, nowMs: number): NodeClaim {
  if (reason === undefined) return clearCondition(claim, NODECLAIM_CONDITIONS, 'Drifted', nowMs);
  const update = { type: 'Drifted', status: 'True', reason, message: reason } as const;
  return setCondition(claim, NODECLAIM_CONDITIONS, update, nowMs);
}

/** Checks that need more than the NodeClaim and its NodePool. Each runs only if the checks before it find no drift. */
export interface DriftChecks {
  /** True if the node should be replaced before its maintenance. */
  readonly awaitsMaintenance?: boolean;
  readonly hasLostType: () => Promise<boolean>;
  /** Returns the reason why the NodeClaim has drifted from its NodeClass. */
  readonly nodeClassDrift: () => Promise<string | undefined>;
}

/** Returns the first reason why a NodeClaim has drifted from its NodePool or NodeClass, or undefined. */
export async function driftReason(
  claim: NodeClaim,
  pool: NodePool,
  { awaitsMaintenance = false, hasLostType, nodeClassDrift }: DriftChecks,
  nowMs: number,
): Promise<string | undefined> {
  if (!isTrue(claim, 'Launched')) return undefined;
  // first, because its time is limited
  if (awaitsMaintenance) return MAINTENANCE_PLANNED;
  const reason = poolDrift(claim, pool);
  if (reason !== undefined) return reason;
  const isOld = nowMs - timeOf(claim.metadata.creationTimestamp) >= TYPE_CHECK_AGE_MS;
  return isOld && (await hasLostType()) ? 'InstanceTypeNotFound' : nodeClassDrift();
}

/** Returns a reason if the template or the requirements of the NodePool have changed since the NodeClaim was created. */
function poolDrift(claim: NodeClaim, pool: NodePool): 'NodePoolDrifted' | 'RequirementsDrifted' | undefined {
  if (hashDiffers(claim, pool)) return 'NodePoolDrifted';
  return meetsPool(claim, pool) ? undefined : 'RequirementsDrifted';
}

/** Cached, because every NodeClaim is checked every five minutes and the objects are immutable. */
const meetsPool = remembering((claim: NodeClaim, pool: NodePool): boolean => {
  const required = requiredBy(pool);
  return Requirements.fromLabels(claim.metadata.labels).compatible(required, STRICT);
});

const requiredBy = remembering(({ spec }: NodePool) => Requirements.fromRequirements(spec.template.spec.requirements));

/** Returns true if the hashes differ. Hashes are comparable only if the same version of the algorithm computed them. */
function hashDiffers(claim: NodeClaim, pool: NodePool): boolean {
  const of = ({ metadata }: NodeClaim | NodePool) => ({
    hash: metadata.annotations?.[NODEPOOL_HASH_ANNOTATION],
    version: metadata.annotations?.[NODEPOOL_HASH_VERSION_ANNOTATION],
  });
  const [own, wanted] = [of(claim), of(pool)];
  if (own.hash === undefined || wanted.hash === undefined) return false;
  return own.version !== undefined && own.version === wanted.version && own.hash !== wanted.hash;
}

/**
 * Returns true if the cloud no longer offers the NodeClaim's instance type with the NodeClaim's labels. Without a list of types,
 * returns false.
 */
export function lostItsType(claim: NodeClaim, types: readonly InstanceType[]): boolean {
  if (types.length === 0) return false;
  const type = types.find(({ name }) => name === claim.metadata.labels?.[INSTANCE_TYPE_LABEL]);
  const wanted = purchasable(claim);
  const isSold = type?.offerings.some((offering) =>
    requirementsOf(offering).compatible(wanted, { allowUndefined: ANY(wanted) }),
  );
  return isSold !== true;
}

/** Allows all labels of the NodeClaim to be undefined, because an offering has only a few labels. */
const ANY = (requirements: Requirements): ReadonlySet<string> =>
  new Set([...LOOSE.allowUndefined, ...requirements.keys]);

/** Returns the labels of the NodeClaim as requirements. A reservation that ended leaves an on-demand instance. */
function purchasable(claim: NodeClaim): Requirements {
  const labels = Requirements.fromLabels(claim.metadata.labels);
  if (claim.metadata.labels?.[CAPACITY_TYPE_LABEL] !== 'reserved') return labels;
  return labels
    .without(CAPACITY_RESERVATION_ID_LABEL, CAPACITY_RESERVATION_TYPE_LABEL, CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL)
    .with(CAPACITY_TYPE_LABEL, ValueSet.in(['reserved', 'on-demand']));
}
