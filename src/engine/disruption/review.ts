/** Asks the disruption methods about a snapshot, as the operator asks them about the cluster. */
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

/** Karpenter's, in the order in which they run; the first that has a command ends the pass. */
export const METHODS: readonly Method[] = [emptiness, staticDrift, drift, multiNode, singleNode];

/** Those that a mode of consolidation has, in order. */
export const methodsOf = (mode: ConsolidationMode): readonly Method[] =>
  mode === 'compatible' ? METHODS : [...METHODS, swap];

/** Those that an operator with these settings asks, in order. */
export const enabledMethods = ({
  consolidation,
  staticCapacity,
}: Pick<ClusterSnapshot, 'consolidation' | 'staticCapacity'>): readonly Method[] =>
  methodsOf(consolidation).filter((method) => method !== staticDrift || staticCapacity);

/** A cluster that does not change, such as that of some manifests. */
export interface ClusterSnapshot {
  /** Its pools are those that buy nodes for pods. */
  readonly snapshot: Snapshot;
  /** Every managed NodePool, by name. */
  readonly pools: ReadonlyMap<string, PoolInput>;
  /** Provider ids that commands are working on. */
  readonly inProgress: ReadonlySet<string>;
  /** Feature gate SpotToSpotConsolidation. */
  readonly spotToSpot: boolean;
  /** Feature gate StaticCapacity: without it nobody acts on NodePools that hold a fixed number of nodes. */
  readonly staticCapacity: boolean;
  readonly consolidation: ConsolidationMode;
  /** On the snapshot. */
  readonly simulator: Simulator;
  /** Milliseconds since any moment, for the deadlines of the methods. */
  readonly elapsedMs: () => number;
}

/** What a method makes of the nodes. */
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
    // without instance types, what a pool's nodes cost and could become is not known
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
