/** Static NodePools: their NodeClaims grouped by state, the trigger of their controllers, and the report if their gate is off. */
import { isTrue, NODE_CLAIM, NODE_POOL, type NodeClaim, type NodePool, poolNameOf, uidOf } from '#api/objects';
import { type Reconciler, settled, type Trigger } from '#kube/reconcilers';
import { eventOf, STATIC_CAPACITY_DISABLED } from '#observe/events';
import type { Deps } from '../deps.ts';
import type { DisruptionQueue } from '../disruption/queue.ts';

export interface StaticClaims {
  /** NodeClaims that stay. */
  readonly active: readonly NodeClaim[];
  /** Number of NodeClaims that a disruption command replaces. */
  readonly pending: number;
  /** Number of NodeClaims that are being deleted. */
  readonly deleting: number;
}

type Sources = Pick<Deps, 'cluster'> & { readonly queue: Pick<DisruptionQueue, 'has'> };

/**
 * Counts the NodeClaims, including NodeClaims that this process just created or deleted. A NodeClaim that is marked for
 * disruption counts as pending. The mark is written before the replacement is created, so the two never count as active
 * together.
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

/** Returns true for static NodePools of this provider that are not being deleted. */
export const isStaticPool = ({ cluster }: Pick<Deps, 'cluster'>, pool: NodePool): boolean =>
  pool.spec.replicas !== undefined &&
  pool.metadata.deletionTimestamp === undefined &&
  cluster.manages(pool.spec.template.spec.nodeClassRef);

/** Replaces the controllers of static NodePools if their feature gate is disabled. */
export function staticHint(deps: Deps): Reconciler<NodePool> {
  return {
    name: 'static.hint',
    watches: NODE_POOL,
    filter: (pool, event) => event === 'added' && isStaticPool(deps, pool),

    async reconcile(pool, { log }) {
      const message = STATIC_CAPACITY_DISABLED.message();
      log.info('ignoring static nodepool', { error: message });
      const dedupe = [uidOf(pool)];
      deps.events.publish(eventOf(STATIC_CAPACITY_DISABLED, pool, { message, dedupe }));
      return settled;
    },
  };
}

/** Triggers a static NodePool if its NodeClaims are added, deleted or changed. */
export const claimsOfStaticPools = ({ cluster }: Pick<Deps, 'cluster'>): readonly Trigger[] => [
  {
    kind: NODE_CLAIM,
    keysFor: ({ metadata }) => {
      const name = poolNameOf({ metadata });
      return cluster.stores.nodePools.get({ name })?.spec.replicas === undefined ? [] : [{ name }];
    },
  },
];
