/** Compares two inputs of a NodePool. */
import { isDeepStrictEqual } from 'node:util';
import type { PoolInput } from '../engine/model.ts';

/** Returns true if the inputs are equal. Compares by identity, because NodePools and lists of instance types never change. */
export const isSamePool = (pool: PoolInput, other: PoolInput | undefined): boolean =>
  pool.nodePool === other?.nodePool &&
  pool.instanceTypes === other.instanceTypes &&
  pool.deviceTemplates === other.deviceTemplates &&
  isDeepStrictEqual(pool.extras, other.extras);
