/** Why a NodeClaim is no longer what its NodePool asks for, as far as the objects and the instance types show it. */
import { clearCondition, getCondition, NODECLAIM_CONDITIONS, setCondition } from '../api/conditions.ts';
import { NODEPOOL_HASH_VERSION, nodePoolHash } from '../api/hash.ts';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
} from '../api/labels.ts';
import type { NodeClaim } from '../api/nodeclaim.ts';
import type { NodePool } from '../api/nodepool.ts';
import { remembering } from '../lib/remembering.ts';
import { requirementsOf } from './instance-types.ts';
import type { InstanceType } from './model.ts';
import { LOOSE, Requirements, STRICT } from './requirements.ts';
import { ValueSet } from './value-set.ts';

/** Younger claims were bought from a list of instance types that is still fresh. */
export const TYPE_CHECK_AGE_MS = 60 * 60_000;

/** The NodePool with its drift hash; undefined when a value of its template cannot be read. */
export function withHash(pool: NodePool): NodePool | undefined {
  let hash: string;
  try {
    hash = nodePoolHash(pool);
  } catch {
    return undefined;
  }
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
 * The claim as it is once its NodePool's hash is written. When the pool gets its first hash of this version, claims with
 * one of another version take it over; a drifted claim keeps its old one, because a new one would hide the drift.
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

/** Sets the condition Drifted by a reason for it, or clears the condition. */
export function withDrifted(claim: NodeClaim, reason: string | undefined, nowMs: number): NodeClaim {
  if (reason === undefined) return clearCondition(claim, NODECLAIM_CONDITIONS, 'Drifted', nowMs);
  const update = { type: 'Drifted', status: 'True', reason, message: reason } as const;
  return setCondition(claim, NODECLAIM_CONDITIONS, update, nowMs);
}

/** Whether the NodePool's template or requirements have changed since the claim was made. */
export function poolDrift(claim: NodeClaim, pool: NodePool): 'NodePoolDrifted' | 'RequirementsDrifted' | undefined {
  if (hashDiffers(claim, pool)) return 'NodePoolDrifted';
  return meetsPool(claim, pool) ? undefined : 'RequirementsDrifted';
}

/** Every claim is asked every five minutes, and neither changes. */
const meetsPool = remembering((claim: NodeClaim, pool: NodePool): boolean => {
  const required = requiredBy(pool);
  return Requirements.fromLabels(claim.metadata.labels).compatible(required, STRICT);
});

const requiredBy = remembering(({ spec }: NodePool) => Requirements.fromRequirements(spec.template.spec.requirements));

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

/** Whether the cloud sells the claim's instance type no more as the claim has it. Without any types nothing is known. */
export function lostItsType(claim: NodeClaim, types: readonly InstanceType[]): boolean {
  if (types.length === 0) return false;
  const type = types.find(({ name }) => name === claim.metadata.labels?.[INSTANCE_TYPE_LABEL]);
  const wanted = purchasable(claim);
  const isSold = type?.offerings.some((offering) =>
    requirementsOf(offering).compatible(wanted, { allowUndefined: ANY(wanted) }),
  );
  return isSold !== true;
}

/** An offering names few labels; the claim's others do not speak against it. */
const ANY = (requirements: Requirements): ReadonlySet<string> =>
  new Set([...LOOSE.allowUndefined, ...requirements.keys]);

/** The claim's labels as a request; a reservation that ended leaves an on-demand instance behind. */
function purchasable(claim: NodeClaim): Requirements {
  const labels = Requirements.fromLabels(claim.metadata.labels);
  if (claim.metadata.labels?.[CAPACITY_TYPE_LABEL] !== 'reserved') return labels;
  return labels
    .without(CAPACITY_RESERVATION_ID_LABEL, CAPACITY_RESERVATION_TYPE_LABEL, CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL)
    .with(CAPACITY_TYPE_LABEL, ValueSet.in(['reserved', 'on-demand']));
}
