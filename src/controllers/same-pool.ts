/** Whether what is known of a NodePool is what was known before. */
import { isDeepStrictEqual } from 'node:util';
import type { PoolInput } from '../engine/model.ts';

/** By identity: NodePools and lists of instance types never change. */
export const isSamePool = (pool: PoolInput, other: PoolInput | undefined): boolean =>
  pool.nodePool === other?.nodePool &&
  pool.instanceTypes === other.instanceTypes &&
  isDeepStrictEqual(pool.extras, other.extras);
