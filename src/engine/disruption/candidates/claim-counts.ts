/** Counts the NodeClaims of a NodePool by state. */
import { NODEPOOL_LABEL } from '#api/objects';
import { remembering } from '#lib';
import type { EngineNode } from '../../model.ts';

/** Number of NodeClaims of a NodePool by state. Each NodeClaim has exactly one state. */
export interface ClaimCounts {
  /** NodeClaims that stay. */
  readonly active: number;
  /** NodeClaims that a command will delete when their replacements are ready. */
  readonly pending: number;
  readonly deleting: number;
}

export const NO_CLAIMS: ClaimCounts = { active: 0, pending: 0, deleting: 0 };

/** Returns the counts of all NodePools. `inProgress` has the provider ids of the nodes that belong to commands in progress. */
export const claimCounts = remembering(counted);

function counted(nodes: readonly EngineNode[], inProgress: ReadonlySet<string>): ReadonlyMap<string, ClaimCounts> {
  const counts = new Map<string, { -readonly [Kind in keyof ClaimCounts]: number }>();
  for (const { nodeClaim, labels, providerId, markedForDeletion } of nodes) {
    const pool = labels[NODEPOOL_LABEL];
    if (nodeClaim === undefined || pool === undefined) continue;
    const count = counts.get(pool) ?? { ...NO_CLAIMS };
    const isDeleting = nodeClaim.metadata.deletionTimestamp !== undefined;
    const kind = !isDeleting && inProgress.has(providerId) ? 'pending' : markedForDeletion ? 'deleting' : 'active';
    count[kind]++;
    counts.set(pool, count);
  }
  return counts;
}
