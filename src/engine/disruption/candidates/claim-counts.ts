/** How many claims a NodePool has, by what is to become of them. */
import { NODEPOOL_LABEL } from '../../../api/labels.ts';
import { remembering } from '../../../lib/remembering.ts';
import type { StateNode } from '../../model.ts';

/** Claims of a NodePool by what is to become of them. Each claim is in one of the three. */
export interface ClaimCounts {
  /** Those that stay. */
  readonly active: number;
  /** Those that a command is about to take, once their replacements are there. */
  readonly pending: number;
  readonly deleting: number;
}

export const NO_CLAIMS: ClaimCounts = { active: 0, pending: 0, deleting: 0 };

/** The claims of every NodePool; `inProgress` holds the provider ids that commands are working on. */
export const claimCounts = remembering(counted);

function counted(nodes: readonly StateNode[], inProgress: ReadonlySet<string>): ReadonlyMap<string, ClaimCounts> {
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
