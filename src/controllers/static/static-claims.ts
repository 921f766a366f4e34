/** The claims of a static NodePool, by whether they stay. */
import { isTrue } from '../../api/conditions.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import type { Deps } from '../deps.ts';
import type { DisruptionQueue } from '../disruption/queue.ts';

export interface StaticClaims {
  /** Those that stay. */
  readonly active: readonly NodeClaim[];
  /** Number of those that a disruption command replaces. */
  readonly pending: number;
  /** Number of those that are going away. */
  readonly deleting: number;
}

type Sources = Pick<Deps, 'cluster'> & { readonly queue: Pick<DisruptionQueue, 'has'> };

/**
 * Counts also what this process created or deleted a moment ago. A claim that is marked for disruption counts as pending
 * from the mark on, which is written before the claim that replaces it: no count ever sees both as active.
 */
export function staticClaims(
  { cluster, queue }: Sources,
  pool: NodePool,
  deleted: (claim: NodeClaim) => boolean,
): StaticClaims {
  const active: NodeClaim[] = [];
  let pending = 0;
  let deleting = 0;
  for (const claim of cluster.claimsOfPool(pool.metadata.name)) {
    const isGoing = claim.metadata.deletionTimestamp !== undefined || isTrue(claim, 'InstanceTerminating');
    if (isGoing || deleted(claim)) deleting++;
    else if (isTrue(claim, 'DisruptionReason') || queue.has(claim.status?.providerID ?? '')) pending++;
    else if (cluster.nodeOfClaim(claim)?.markedForDeletion) deleting++;
    else active.push(claim);
  }
  return { active, pending, deleting };
}

/** Static NodePools of this provider that are not being deleted. */
export const isStaticPool = ({ cluster }: Pick<Deps, 'cluster'>, pool: NodePool): boolean =>
  pool.spec.replicas !== undefined &&
  pool.metadata.deletionTimestamp === undefined &&
  cluster.manages(pool.spec.template.spec.nodeClassRef);
