/** NodePools of a cluster: managed by the operator, active, or idle with the reason. */

import type { Conditioned, NodePool } from '#api/objects';
import { awaitsReadiness, type IdlePool, idleMisfit, type PoolInput } from '#engine/model';
import type { ClusterState } from '#state';
import { governedPool, type RolloutCluster } from './rollouts.ts';

type Pools = Pick<ClusterState, 'manages'> & { readonly stores: Pick<ClusterState['stores'], 'nodePools'> };

/** Returns the NodeClass of a NodePool, or undefined if it does not exist. */
export type NodeClassOf = (nodePool: NodePool) => Conditioned | undefined;

/** Returns the NodePools with a NodeClass of the provider. */
export const managedPools = (cluster: Pools): readonly NodePool[] =>
  cluster.stores.nodePools.list().filter(({ spec }) => cluster.manages(spec.template.spec.nodeClassRef));

/** Returns managed NodePools as their policies govern them. */
export const governedPools = (
  cluster: Pick<ClusterState, 'stores' | 'manages'> & RolloutCluster,
  nowMs: number,
  pools = managedPools(cluster),
): readonly NodePool[] => pools.map((pool) => governedPool(pool, { cluster, nowMs }));

/** Returns the managed NodePools that launch nodes for pods. */
export const activePools = (cluster: Pools): readonly NodePool[] =>
  managedPools(cluster).filter((pool) => idleMisfit(pool, undefined) === undefined);

/** Returns the inputs of active NodePools. Compares names, because an input may have the budgets of a policy. */
export function activeInputs(cluster: Pools, pools: readonly PoolInput[]): readonly PoolInput[] {
  const active = new Set(activePools(cluster).map(({ metadata }) => metadata.name));
  return pools.filter(({ nodePool }) => active.has(nodePool.metadata.name));
}

/** Returns the managed NodePools that launch no nodes for pods, sorted by name. */
export const idlePools = (cluster: Pools, nodeClassOf: NodeClassOf): readonly IdlePool[] =>
  managedPools(cluster)
    .flatMap((pool) => {
      const misfit = idleMisfit(pool, nodeClassOf(pool));
      return misfit === undefined ? [] : [{ nodePool: pool.metadata.name, misfit }];
    })
    .sort((a, b) => (a.nodePool < b.nodePool ? -1 : 1));

/** Returns the objects of idle NodePools. */
export const idleNodePools = ({ stores }: Pools, idle: readonly IdlePool[]): readonly NodePool[] =>
  idle.flatMap(({ nodePool }) => stores.nodePools.get({ name: nodePool }) ?? []);

/** Returns true if a NodePool may soon be Ready. Until then, a pending pod has no final reason for a refusal. */
export const someAwaitReadiness = (cluster: Pools, nodeClassOf: NodeClassOf): boolean =>
  managedPools(cluster).some((pool) => awaitsReadiness(pool, nodeClassOf(pool)));
