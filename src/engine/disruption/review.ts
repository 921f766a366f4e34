/** Runs the disruption methods on a snapshot, in the same way as the operator runs them on the cluster. */
import type { PoolInput, Snapshot } from '../model.ts';
import { claimCounts } from './candidates/claim-counts.ts';
import { committedUse } from './committed-use.ts';
import type { ConsolidationMode, Method } from './method.ts';
import { drift } from './methods/drift.ts';
import { emptiness } from './methods/emptiness.ts';
import { multiNode } from './methods/multi-node.ts';
import { singleNode } from './methods/single-node.ts';
import { staticDrift } from './methods/static-drift.ts';
import { swap } from './methods/swap.ts';
import { decide, type PassInput, prepare, simulateOn } from './pass.ts';
import type { Simulator } from './simulations/simulator.ts';
import type { MethodReview } from './verdicts.ts';

/** Methods of Karpenter, in the order of their runs. The first method with a command ends the pass. */
export const METHODS: readonly Method[] = [emptiness, staticDrift, drift, multiNode, singleNode];

/** Returns the methods of a consolidation mode, in order. */
export const methodsOf = (mode: ConsolidationMode): readonly Method[] =>
  mode === 'compatible' ? METHODS : [...METHODS, swap];

/** Returns the methods that an operator with these settings runs, in order. */
export const enabledMethods = ({
  consolidation,
  staticCapacity,
}: Pick<ClusterSnapshot, 'consolidation' | 'staticCapacity'>): readonly Method[] =>
  methodsOf(consolidation).filter((method) => method !== staticDrift || staticCapacity);

/** Cluster that does not change, for example one from manifests. */
export interface ClusterSnapshot {
  /** Snapshot. Its pools are the NodePools that can launch nodes for pods. */
  readonly snapshot: Snapshot;
  /** All managed NodePools, by name. */
  readonly pools: ReadonlyMap<string, PoolInput>;
  /** Provider ids of the nodes that belong to commands in progress. */
  readonly inProgress: ReadonlySet<string>;
  /** Feature gate SpotToSpotConsolidation. */
  readonly spotToSpot: boolean;
  /** Feature gate StaticCapacity. If false, NodePools with a fixed number of nodes have no effect. */
  readonly staticCapacity: boolean;
  readonly consolidation: ConsolidationMode;
  /** Simulator for the snapshot. */
  readonly simulator: Simulator;
  /** Returns the milliseconds since an arbitrary moment, for the deadlines of the methods. */
  readonly elapsedMs: () => number;
}

/** Runs a method on the nodes. */
export async function review(method: Method, cluster: ClusterSnapshot): Promise<MethodReview> {
  const { input, ...preparation } = await prepare(method, passInputOf(cluster));
  return { ...preparation, result: await decide({ ...preparation, input }) };
}

function passInputOf(cluster: ClusterSnapshot): PassInput {
  const { snapshot, pools, inProgress, spotToSpot, consolidation, simulator, elapsedMs } = cluster;
  const { nodes, nowMs, podDisruptionBudgets } = snapshot;
  const startedMs = elapsedMs();
  return {
    nowMs,
    nodes,
    podDisruptionBudgets,
    nodePools: [...pools.values()].map(({ nodePool }) => nodePool),
    // without instance types, the cost of a pool's nodes and their possible replacements are unknown
    pools: new Map([...pools].filter(([, { instanceTypes }]) => instanceTypes.length > 0)),
    inProgress,
    claims: claimCounts(nodes, inProgress),
    spotToSpot,
    consolidation,
    unseenPools: new Set(),
    committed: committedUse(snapshot, pools, consolidation),
    undone: [],
    simulate: simulateOn(simulator),
    elapsedMs: () => elapsedMs() - startedMs,
  };
}
