/** Scales a static NodePool up: creates missing NodeClaims. */
import { isTrue, NODE_POOL, type NodePool, READY } from '#api/objects';
import { limitOfNodes } from '#engine/disruption';
import { launchableNodes, templateClaim } from '#engine/solve';
import { after, type ReconcileContext, type Reconciler, settled } from '#kube/reconcilers';
import { withBoundedConcurrency } from '#lib';
import { monotonicMs } from '#lib/clock';
import { createClaim } from '../claims.ts';
import type { Deps } from '../deps.ts';
import type { DisruptionQueue } from '../disruption/queue.ts';
import { isObservedChange } from '../observed.ts';
import type { LaunchBudget } from '../provisioning/launch-budget.ts';
import { claimsOfStaticPools, isStaticPool, type StaticClaims, staticClaims } from './static-claims.ts';

const REVIEW_MS = 60_000;
const UNSYNCED_MS = 1000;
const AT_LIMIT_MS = 30_000;
/** Interval of retries while the launch budget, which reports the reason, has no room. */
const HELD_MS = 10_000;
/** Maximum number of NodeClaims per reconcile. The events of the NodeClaims trigger the next reconcile. */
const MOST_AT_ONCE = 500;
/** Interval of retries while no offering is available, as for pending pods. */
const NO_OFFERING_MS = 10_000;
/**
 * Minimum interval between creations. Limits the replacement of NodeClaims that are deleted immediately because of insufficient
 * capacity.
 */
const LEAST_PACE_MS = 10_000;

interface LastCreation {
  /** Time of the last creation, by `monotonicMs`. */
  readonly ms: number;
  readonly generation: number | undefined;
}

/** Returns the number of NodeClaims to create now: the missing NodeClaims, up to the node limit of the NodePool. */
export function countCreations(pool: NodePool, { active, pending, deleting }: StaticClaims, reserved: number): number {
  const missing = (pool.spec.replicas ?? 0) - active.length;
  const limit = limitOfNodes(pool);
  return Math.max(0, Math.min(missing, MOST_AT_ONCE, limit - (active.length + pending + deleting + reserved)));
}

export function staticProvisioning(
  deps: Deps,
  queue: DisruptionQueue,
  launches: Pick<LaunchBudget, 'room'>,
): Reconciler<NodePool> {
  const { clock, cluster } = deps;
  const created = new Map<string, LastCreation>();
  let hasSynced = false;

  async function create(pool: NodePool, count: number, context: ReconcileContext): Promise<void> {
    const { name, generation } = pool.metadata;
    const planned = templateClaim(pool);
    cluster.reservedNodes.add(name, count);
    created.set(name, { ms: monotonicMs(clock), generation });
    await withBoundedConcurrency(Array.from({ length: count }), count, async () => {
      try {
        await createClaim(deps, planned, { ...context, reason: 'provisioned' });
      } finally {
        cluster.reservedNodes.take(name);
      }
    });
  }

  /** Returns the milliseconds to wait before more NodeClaims are created for the same generation of a NodePool. */
  function paceMs({ metadata }: NodePool): number {
    const last = created.get(metadata.name);
    return last === undefined || last.generation !== metadata.generation
      ? 0
      : Math.max(0, last.ms + LEAST_PACE_MS - monotonicMs(clock));
  }

  return {
    name: 'static.provisioning',
    watches: NODE_POOL,
    concurrency: 10,
    filter: (pool) => isStaticPool(deps, pool),
    triggers: claimsOfStaticPools(deps),
    removed: ({ name }) => void created.delete(name),

    async reconcile(pool, context) {
      if (!isStaticPool(deps, pool) || !isTrue(pool, READY)) return settled;
      hasSynced ||= cluster.synced();
      if (!hasSynced) return after(UNSYNCED_MS);
      const claims = staticClaims({ cluster, queue }, pool, () => false);
      if (claims.active.length + claims.pending >= (pool.spec.replicas ?? 0)) return after(REVIEW_MS);
      const waitMs = paceMs(pool);
      if (waitMs > 0) return after(waitMs);
      const room = launches.room(pool.metadata.name);
      if (room === 0) return after(HELD_MS);
      const count = (current: StaticClaims): number =>
        Math.min(room, countCreations(pool, current, cluster.reservedNodes.of(pool.metadata.name)));
      if (count(claims) === 0) {
        context.log.info('nodepool node limit reached');
        return after(AT_LIMIT_MS);
      }
      if (isObservedChange(deps, pool.metadata.name, count(claims))) return after(HELD_MS);
      const launchable = await countLaunchable(deps, pool, context);
      // other controllers may have created NodeClaims while the instance types were read
      const current = staticClaims({ cluster, queue }, pool, () => false);
      // a reservation does not count NodeClaims without an instance yet
      const unlaunched = current.active.filter(({ status }) => status?.providerID === undefined).length;
      const left = Math.min(count(current), launchable - unlaunched);
      if (left > 0) await create(pool, left, context);
      return after(left < count(current) ? NO_OFFERING_MS : REVIEW_MS);
    },
  };
}

/** Returns the number of nodes that can be launched: 0 also if the instance types are unknown, as for pending pods. */
async function countLaunchable(
  { cloud }: Pick<Deps, 'cloud'>,
  pool: NodePool,
  { log }: ReconcileContext,
): Promise<number> {
  const NodePool = { name: pool.metadata.name };
  try {
    const most = launchableNodes(pool, await cloud.instanceTypes(pool));
    if (most === 0) log.debug('waiting for an available offering', { NodePool });
    return most;
  } catch (error) {
    log.debug('waiting for the instance types', { NodePool, error });
    return 0;
  }
}
