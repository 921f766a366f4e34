/**
 * Inputs of decisions, from the state of a cluster and the inputs of its NodePools. The operator fills the state from watches,
 * the command line from manifests.
 */

import type { NodePool } from '#api/objects';
import { packingPolicy } from '#api/values';
import type { Commitment } from '#engine/costs';
import { type PassInput, passCluster } from '#engine/disruption';
import type { PoolInput, Snapshot, SolveOptions, StateNode } from '#engine/model';
import type { WithheldLaunch } from '#engine/solve';
import type { ClusterState } from '#state';
import { comingReplicas } from './coming-replicas.ts';
import { activeInputs, idleNodePools, idlePools, type NodeClassOf } from './node-pools.ts';
import { type DecisionSettings, simulationOptions } from './options.ts';
import type { Workload } from './pods.ts';
import { type SnapshotParts, takeSnapshot } from './snapshot.ts';

export interface PlannerInput {
  readonly cluster: ClusterState;
  readonly settings: Pick<DecisionSettings, 'packing'>;
  readonly workload: Workload;
  readonly commitments: readonly Commitment[] | undefined;
  readonly withheld?: readonly WithheldLaunch[];
}

const snapshotOf = (
  { cluster, settings, workload, commitments, withheld = [] }: PlannerInput,
  parts: Pick<SnapshotParts, 'pools' | 'idlePools' | 'idleNodePools' | 'pendingPods'>,
): Snapshot => {
  const { keepsLaunches, packsByPrice } = packingPolicy(settings.packing);
  const snapshot = takeSnapshot(cluster, {
    ...parts,
    nowMs: workload.nowMs,
    nodes: workload.nodes,
    overdue: workload.overdue,
    commitments,
    withheld,
    keepsLaunches,
  });
  const coming = packsByPrice ? comingReplicas(cluster.stores, workload.nowMs) : NONE;
  return coming.size === 0 ? snapshot : { ...snapshot, comingReplicas: coming };
};

const NONE: ReadonlyMap<string, number> = new Map();

/**
 * Returns the snapshot of a solve for launches.
 * @param pools inputs of the active NodePools
 */
export function launchSnapshot(input: PlannerInput, pools: readonly PoolInput[], nodeClassOf: NodeClassOf): Snapshot {
  const idle = idlePools(input.cluster, nodeClassOf);
  const { pending, leaving, virtual } = input.workload;
  const idleParts = { idlePools: idle, idleNodePools: idleNodePools(input.cluster, idle) };
  return snapshotOf(input, { pools, ...idleParts, pendingPods: [...pending, ...leaving, ...virtual] });
}

/**
 * Returns the snapshot of disruption's simulations, which add the pods of nodes that are being removed.
 * @param pools inputs of all managed NodePools
 */
export const simulationSnapshot = (input: PlannerInput, pools: readonly PoolInput[]): Snapshot =>
  snapshotOf(input, {
    pools: activeInputs(input.cluster, pools),
    pendingPods: [...input.workload.pending, ...input.workload.virtual],
  });

/** State of the cluster at one time, for disruption's simulations. */
export interface SimulationInput {
  /** Its pending pods are the currently pending pods. */
  readonly snapshot: Snapshot;
  /** All NodePools, including NodePools that launch no nodes for pods. */
  readonly nodePools: readonly NodePool[];
  readonly solve: Omit<SolveOptions, 'elapsedMs' | 'working'>;
}

interface DisruptionParts extends Pick<PassInput, 'inProgress'> {
  /** Inputs of all managed NodePools. */
  readonly pools: readonly PoolInput[];
  readonly settings: DecisionSettings;
  /** All NodePools. */
  readonly nodePools: readonly NodePool[];
  /** Nodes without NodeClaims whose launch is overdue. Default: the nodes of the snapshot. */
  readonly nodes?: readonly StateNode[];
  /** Time limit of one simulation. A pod without a place at the limit counts as stranded. */
  readonly deadlineMs?: number;
}

/** Part of the input of disruption methods that depends on the cluster only, with the input of their simulations. */
export interface DisruptionInput extends ReturnType<typeof passCluster> {
  readonly simulation: SimulationInput;
}

/** Returns the input of disruption methods for a snapshot of {@link simulationSnapshot}. */
export function disruptionInput(snapshot: Snapshot, parts: DisruptionParts): DisruptionInput {
  const { pools, settings, inProgress, nodePools, nodes = snapshot.nodes, deadlineMs } = parts;
  const { consolidation } = settings;
  const solve = { ...simulationOptions(settings), ...(deadlineMs !== undefined && { deadlineMs }) };
  return {
    ...passCluster({ ...snapshot, nodes }, pools, { inProgress, consolidation }),
    simulation: { snapshot, nodePools, solve },
  };
}
