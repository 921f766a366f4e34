/** Changes of NodePools after which more nodes may be launched. */
import { isTrue, type NodePool, READY } from '#api/objects';

/**
 * Returns true if a NodePool became ready, or was edited while ready, because such a NodePool may accept pods that no NodePool
 * accepted before.
 */
export const mayTakeMore = (pool: NodePool, before: NodePool | undefined): boolean =>
  isTrue(pool, READY) &&
  (before === undefined || !isTrue(before, READY) || before.metadata.generation !== pool.metadata.generation);
