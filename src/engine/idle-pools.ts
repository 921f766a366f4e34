/** Detects NodePools that launch no nodes for pods. */
import { type Conditioned, causesOf, isFalse, isTrue, type NodePool, READY } from '#api/objects';
import { unreadyText, VALIDATION_SUCCEEDED } from '#api/validation';
import type { Misfit } from './model.ts';

/**
 * Returns the reason why a NodePool takes no part, from its deletion, its kind and its conditions. Returns undefined if it takes
 * part.
 */
export function idleMisfit(pool: NodePool, nodeClass: Conditioned | undefined): Misfit | undefined {
  if (pool.metadata.deletionTimestamp) return { code: 'deleting', text: 'the NodePool is being deleted' };
  if (pool.spec.replicas !== undefined)
    return {
      code: 'static',
      text: 'the NodePool has a fixed number of nodes (spec.replicas) and launches none for pending pods',
    };
  return isTrue(pool, READY) ? undefined : { code: 'not-ready', text: unreadyText(pool, nodeClass) };
}

/**
 * Returns true if a NodePool is not Ready only because its conditions or its NodeClass's conditions have not been set
 * yet, as after a start.
 */
export function awaitsReadiness(pool: NodePool, nodeClass: Conditioned | undefined): boolean {
  if (idleMisfit(pool, nodeClass)?.code !== 'not-ready' || isFalse(pool, VALIDATION_SUCCEEDED)) return false;
  if (nodeClass === undefined || nodeClass.metadata.deletionTimestamp) return false;
  return causesOf(nodeClass).length === 0;
}
