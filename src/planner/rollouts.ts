/** Rollouts of NodePools, from the policies, NodeClaims, nodes and pods of a cluster. */
import { type NodePool, sectionFor } from '#api/objects';
import {
  addRollout,
  addWindows,
  nextRecord,
  type Rollout,
  type RolloutNode,
  type RolloutRecord,
  readRollout,
  rolloutOf,
  startOfRollout,
} from '#engine/disruption';
import type { ClusterState } from '#state';

export type RolloutCluster = Pick<ClusterState, 'claimsOfPool' | 'nodeOfClaim'> & {
  readonly stores: Pick<ClusterState['stores'], 'nodePolicies'>;
};

interface ReadRollout {
  readonly rollout: Rollout | undefined;
  /** Returns the record of a rollout with this target that starts now. */
  readonly start: (target: string) => RolloutRecord;
  /** Record to keep. Undefined without a record or a rollout. */
  readonly next: RolloutRecord | undefined;
}

/** Returns the rollout of a NodePool with a record, or undefined without the section in a policy. */
export function rolloutIn(
  cluster: RolloutCluster,
  nodePool: NodePool,
  nowMs: number,
  record = readRollout(nodePool),
): ReadRollout | undefined {
  const found = sectionFor(cluster.stores.nodePolicies.list(), nodePool, 'rollout');
  if (found === undefined) return undefined;
  const nodes = cluster.claimsOfPool(nodePool.metadata.name).map((nodeClaim): RolloutNode => {
    const { node, pods = [] } = cluster.nodeOfClaim(nodeClaim) ?? {};
    return { nodeClaim, node, pods };
  });
  const policy = found.policy.metadata.name;
  const rollout = rolloutOf({ section: found.value, policy, nodes, record, nowMs });
  return {
    rollout,
    next: record && rollout && nextRecord(record, rollout, nodes, nowMs),
    start: (target) => startOfRollout(found.value, nodes, target, nowMs),
  };
}

export interface Governing {
  readonly cluster: RolloutCluster;
  readonly nowMs: number;
  /** True without an operator that records the start of rollouts: drifted nodes without a record count as a start. */
  readonly startsRollouts?: boolean | undefined;
}

/** Returns a NodePool as its policies govern it: with the budgets of its windows and the stage of its rollout. */
export function governedPool(nodePool: NodePool, { cluster, nowMs, startsRollouts = false }: Governing): NodePool {
  const pool = addWindows(nodePool, cluster.stores.nodePolicies.list());
  const read = rolloutIn(cluster, nodePool, nowMs);
  const isStart = startsRollouts && read?.rollout?.stage === 'Starting';
  const known = isStart ? rolloutIn(cluster, nodePool, nowMs, read.start('')) : read;
  return addRollout(pool, known?.rollout);
}
