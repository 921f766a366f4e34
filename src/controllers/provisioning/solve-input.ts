/** Input of a solve: pods that need a node, and NodePools that can launch nodes for them. */

import { getCondition, isTrue, READY } from '../../api/conditions.ts';
import type { Pod } from '../../api/kubernetes.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { type PackingMode, packingPolicy } from '../../api/policy.ts';
import { countedTypes } from '../../engine/expected-costs.ts';
import { awaitsReadiness, idleMisfit } from '../../engine/idle-pools.ts';
import type { IdlePool, PoolInput } from '../../engine/model.ts';
import { podKey } from '../../engine/pods.ts';
import type { Logger } from '../../observe/logger.ts';
import type { ClusterState } from '../../state/cluster.ts';
import { PODS_BY_NODE } from '../../state/stores.ts';
import { untriedReplicas } from '../../state/untried-replicas.ts';
import type { Deps } from '../deps.ts';
import { findNodeClass } from '../node-classes.ts';
import { nodeExtras } from '../node-extras.ts';
import { OverlaysNotEvaluated } from '../nodeoverlay/overlays.ts';

const unscheduledPods = ({ stores }: ClusterState): readonly Pod[] => stores.pods.byIndex(PODS_BY_NODE, '');

/** Returns the pods that wait for a node. */
export const pendingPods = (cluster: ClusterState): readonly Pod[] =>
  unscheduledPods(cluster).filter(cluster.isProvisionable);

/** Returns the pods that wait for a node, and replicas of such pods that kube-scheduler has not tried yet. */
export function podsToPlace(cluster: ClusterState): readonly Pod[] {
  const unscheduled = unscheduledPods(cluster);
  return [...unscheduled.filter(cluster.isProvisionable), ...untriedReplicas(unscheduled, cluster)];
}

/** Removes the pods of NodeClaims with an overdue launch, so that no second node is launched for them in the meantime. */
export function withoutPodsOfOverdueClaims({ unlaunched }: ClusterState, pods: readonly Pod[]): readonly Pod[] {
  const staying = unlaunched.podsOfOverdueClaims();
  return staying.size === 0 ? pods : pods.filter((pod) => !staying.has(podKey(pod)));
}

/** Returns dynamic, ready NodePools that are not being deleted. Logs NodePools that are not ready. */
export function activePools({ cluster }: Pick<Deps, 'cluster'>, log: Logger): readonly NodePool[] {
  return cluster.stores.nodePools.list().filter((pool) => {
    if (!cluster.manages(pool.spec.template.spec.nodeClassRef)) return false;
    if (pool.spec.replicas !== undefined || pool.metadata.deletionTimestamp) return false;
    if (isTrue(pool, READY)) return true;
    const { message = '' } = getCondition(pool, READY) ?? {};
    log.error('ignoring nodepool, not ready', { NodePool: { name: pool.metadata.name }, error: message });
    return false;
  });
}

type PoolDeps = Pick<Deps, 'cluster' | 'informers'>;

const managedPools = ({ cluster }: PoolDeps): readonly NodePool[] =>
  cluster.stores.nodePools.list().filter(({ spec }) => cluster.manages(spec.template.spec.nodeClassRef));

/** Returns true if a NodePool may soon be Ready. Until then, a pending pod has no final reason for a refusal. */
export const someAwaitReadiness = (deps: PoolDeps): boolean =>
  managedPools(deps).some((pool) =>
    awaitsReadiness(pool, findNodeClass(deps.informers, pool.spec.template.spec.nodeClassRef)),
  );

/** Returns the managed NodePools that {@link activePools} excludes, sorted by name. */
export function idlePools(deps: PoolDeps): readonly IdlePool[] {
  return managedPools(deps)
    .flatMap((pool) => {
      const misfit = idleMisfit(pool, findNodeClass(deps.informers, pool.spec.template.spec.nodeClassRef));
      return misfit === undefined ? [] : [{ nodePool: pool.metadata.name, misfit }];
    })
    .sort((a, b) => (a.nodePool < b.nodePool ? -1 : 1));
}

/** Returns the objects of idle NodePools. */
export const idleNodePools = ({ cluster }: Pick<Deps, 'cluster'>, idle: readonly IdlePool[]): readonly NodePool[] =>
  idle.flatMap(({ nodePool }) => cluster.stores.nodePools.get({ name: nodePool }) ?? []);

/**
 * Adds the instance types to NodePools. If the instance types of a NodePool cannot be listed, the NodePool takes part with no
 * instance types, so that it is reported as empty. This error is expected for a NodePool that is not ready.
 */
export async function withInstanceTypes(
  deps: Pick<Deps, 'cloud' | 'settings' | 'devices'>,
  pools: readonly NodePool[],
  { mode, log }: { readonly mode: PackingMode; readonly log: Logger },
): Promise<readonly PoolInput[]> {
  return Promise.all(
    pools.map(async (nodePool): Promise<PoolInput> => {
      const NodePool = { name: nodePool.metadata.name };
      try {
        const listed = await deps.cloud.instanceTypes(nodePool);
        const policy = packingPolicy(mode);
        const instanceTypes = countedTypes(policy, listed);
        if (instanceTypes.length === 0) log.info('skipping, no resolved instance types found', { NodePool });
        const devices = await deps.devices?.forPool(nodePool, instanceTypes);
        return { nodePool, instanceTypes, ...nodeExtras({ ...deps, log }, nodePool, policy), ...devices };
      } catch (error) {
        if (error instanceof OverlaysNotEvaluated) {
          log.debug('skipping, node overlays are not applied', { NodePool, error });
          return { nodePool, instanceTypes: [] };
        }
        if (isTrue(nodePool, READY)) log.error('skipping, unable to resolve instance types', { NodePool, error });
        else log.debug('skipping, the nodepool is not ready', { NodePool, error });
        return { nodePool, instanceTypes: [] };
      }
    }),
  );
}
