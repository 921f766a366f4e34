/** NodePools of a solve, with log entries for NodePools that take no part. */

import { getCondition, type NodePool, READY } from '#api/objects';
import { packingPolicy } from '#api/values';
import type { PoolInput } from '#engine/model';
import type { Logger } from '#observe/logger';
import { activePools, managedPools } from '#planner';
import type { ClusterState } from '#state';
import type { Deps } from '../deps.ts';
import { readPoolInputs } from '../pool-inputs.ts';

/** Logs the NodePools that launch no nodes only because they are not ready. */
export function logUnready(cluster: ClusterState, log: Logger): void {
  const active = new Set(activePools(cluster));
  for (const pool of managedPools(cluster)) {
    if (active.has(pool) || pool.spec.replicas !== undefined || pool.metadata.deletionTimestamp) continue;
    const { message = '' } = getCondition(pool, READY) ?? {};
    log.error('ignoring nodepool, not ready', { NodePool: { name: pool.metadata.name }, error: message });
  }
}

/** Returns the inputs of NodePools for a solve. A NodePool without instance types takes part, so that it is reported as empty. */
export const readLaunchPools = (
  deps: Pick<Deps, 'cloud' | 'clock' | 'cluster' | 'settings' | 'devices'>,
  pools: readonly NodePool[],
  log: Logger,
): Promise<readonly PoolInput[]> =>
  readPoolInputs(deps, pools, {
    policy: packingPolicy(deps.settings.packing),
    logOf: () => log,
    purpose: 'launches',
  });
