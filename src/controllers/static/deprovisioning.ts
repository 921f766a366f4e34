/** Scales a static NodePool down: deletes NodeClaims in excess of its replicas. */
import { NODE_CLAIM, NODE_POOL, NODEPOOL_LABEL, type NodeClaim, type NodePool } from '#api/objects';
import { type StaticClaim, surplus } from '#engine/solve';
import { deleteExactly } from '#kube/client';
import { after, type ReconcileContext, type Reconciler, settled } from '#kube/reconcilers';
import { withBoundedConcurrency } from '#lib';
import type { Deps } from '../deps.ts';
import { logDeleted, reschedulablePods } from '../disrupted.ts';
import type { DisruptionQueue } from '../disruption/queue.ts';
import { isObservedChange } from '../observed.ts';
import { claimsOfStaticPools, isStaticPool, staticClaims } from './static-claims.ts';

const REVIEW_MS = 60_000;
const UNSYNCED_MS = 1000;
const AT_ONCE = 100;
const SURPLUS = 'surplus';

export function staticDeprovisioning(deps: Deps, queue: DisruptionQueue): Reconciler<NodePool> {
  const { client, clock, cluster } = deps;
  /** UIDs of deleted NodeClaims that the store may still show without their deletion, by NodePool. */
  const deleted = new Map<string, ReadonlySet<string | undefined>>();
  let hasSynced = false;

  async function remove(pool: NodePool, { claim, stateNode }: StaticClaim, { log }: ReconcileContext): Promise<void> {
    log.info('deleting nodeclaim, its nodepool has more nodes than replicas', {
      NodeClaim: { name: claim.metadata.name },
    });
    const pods = reschedulablePods(deps, claim);
    cluster.deletionReasons.set(claim.metadata.name, SURPLUS);
    if (await deleteExactly(client, NODE_CLAIM, claim)) logDeleted(deps, claim, { reason: SURPLUS, pods });
    deleted.set(pool.metadata.name, new Set([...(deleted.get(pool.metadata.name) ?? []), claim.metadata.uid]));
    if (stateNode) cluster.markForDeletion(stateNode.providerId);
  }

  /** Returns the deleted NodeClaims of a NodePool that the store still shows. Removes other entries. */
  function stillShown({ metadata: { name } }: NodePool): ReadonlySet<string | undefined> {
    const shown = new Set(cluster.claimsOfPool(name).map(({ metadata }) => metadata.uid));
    const still = new Set(deleted.get(name)).intersection(shown);
    if (still.size > 0) deleted.set(name, still);
    else deleted.delete(name);
    return still;
  }

  /**
   * Reads the NodePool and its NodeClaims from the API server before a deletion. Returns the NodeClaims that still stay, or none
   * if the replicas have changed, because the new number arrives with an event.
   */
  async function stillActive(pool: NodePool, active: readonly NodeClaim[]): Promise<readonly NodeClaim[]> {
    const current = await client.find(NODE_POOL, pool.metadata);
    if (current?.metadata.uid !== pool.metadata.uid || current?.spec.replicas !== pool.spec.replicas) return [];
    const listed = await client.listAll(NODE_CLAIM, { labelSelector: `${NODEPOOL_LABEL}=${pool.metadata.name}` });
    const present = listed.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const uids = new Set(present.map(({ metadata }) => metadata.uid));
    return active.filter(({ metadata }) => uids.has(metadata.uid));
  }

  return {
    name: 'static.deprovisioning',
    watches: NODE_POOL,
    concurrency: 10,
    filter: (pool) => isStaticPool(deps, pool),
    triggers: claimsOfStaticPools(deps),
    removed: ({ name }) => void deleted.delete(name),

    async reconcile(pool, context) {
      if (!isStaticPool(deps, pool)) return settled;
      hasSynced ||= cluster.synced();
      if (!hasSynced) return after(UNSYNCED_MS);
      const gone = stillShown(pool);
      const { active } = staticClaims({ cluster, queue }, pool, ({ metadata }) => gone.has(metadata.uid));
      const excess = active.length - (pool.spec.replicas ?? 0);
      if (excess <= 0) return after(REVIEW_MS);
      if (isObservedChange(deps, pool.metadata.name, -excess)) return after(REVIEW_MS);
      const members = (await stillActive(pool, active)).map((claim) => ({
        claim,
        stateNode: cluster.nodeOfClaim(claim),
      }));
      const facts = { nowMs: clock.now(), gangGroups: cluster.gangGroups() };
      const tooMany = surplus(members, members.length - (pool.spec.replicas ?? 0), facts);
      await withBoundedConcurrency(tooMany, AT_ONCE, (member) => remove(pool, member, context));
      return after(REVIEW_MS);
    },
  };
}
