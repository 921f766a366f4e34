/** Asks the disruption methods about a snapshot, as the operator asks them about the cluster. */
import type { PoolInput, Snapshot } from '../model.ts';
import { poolTotals } from './balance.ts';
import { allowances } from './budgets.ts';
import { type Block, type Candidate, candidateOf, isBlock } from './candidates.ts';
import { claimCounts } from './claimcounts.ts';
import { drift } from './drift.ts';
import { emptiness } from './emptiness.ts';
import type { Experiments } from './experiments.ts';
import type { ConsolidationMode, Method, MethodInput, MethodResult } from './method.ts';
import { multiNode } from './multi.ts';
import { singleNode } from './single.ts';
import { staticDrift } from './staticdrift.ts';
import { swap } from './swap.ts';
import type { Declined, Review } from './verdicts.ts';

/** Karpenter's, in the order in which they are asked; the first that has a command ends the pass. */
export const METHODS: readonly Method[] = [emptiness, staticDrift, drift, multiNode, singleNode];

/** Those that a mode of consolidation has, in order. */
export const methodsOf = (mode: ConsolidationMode): readonly Method[] =>
  mode === 'compatible' ? METHODS : [...METHODS, swap];

/** Those that an operator with these settings asks, in order. */
export const methodsAsked = ({
  consolidation,
  staticCapacity,
}: Pick<Scene, 'consolidation' | 'staticCapacity'>): readonly Method[] =>
  methodsOf(consolidation).filter((method) => method !== staticDrift || staticCapacity);

/** A cluster at a moment. */
export interface Scene {
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
  readonly experiments: Experiments;
  /** Milliseconds since any moment, for the deadlines of the methods. */
  readonly elapsedMs: () => number;
}

const NOTHING: MethodResult = { commands: [], exhausted: true, notes: [] };

export async function review(method: Method, scene: Scene): Promise<Review> {
  const { snapshot, pools, inProgress } = scene;
  const { nodes, nowMs, podDisruptionBudgets } = snapshot;
  const context = { nowMs, class: method.class, inProgress, pools: withTypes(pools), podDisruptionBudgets };
  const blocks = new Map<string, Block>();
  const declined = new Map<string, Declined>();
  const all: Candidate[] = [];
  const candidates: Candidate[] = [];
  for (const node of nodes) {
    const result = candidateOf(node, context);
    if (isBlock(result)) {
      blocks.set(node.providerId, result);
      continue;
    }
    all.push(result);
    const verdict = method.filter(result);
    if (verdict.eligible) candidates.push(result);
    else declined.set(node.providerId, { candidate: result, reason: verdict.reason });
  }
  const allowed = allowances(
    nodes,
    [...pools.values()].map(({ nodePool }) => nodePool),
    { reason: method.reason, nowMs },
  );
  const budgets = new Map([...allowed].map(([name, { remaining }]) => [name, remaining]));
  const findings =
    candidates.length === 0 ? NOTHING : await method.decide(deliberationOn(scene, { all, candidates, budgets }));
  return { method, blocks, declined, candidates, allowances: allowed, findings };
}

/** A pool without instance types counts as unknown: what its nodes cost and could become cannot be told. */
const withTypes = (pools: ReadonlyMap<string, PoolInput>): ReadonlyMap<string, PoolInput> =>
  new Map([...pools].filter(([, { instanceTypes }]) => instanceTypes.length > 0));

interface Found {
  /** Candidates before the method's filter. */
  readonly all: readonly Candidate[];
  readonly candidates: readonly Candidate[];
  readonly budgets: ReadonlyMap<string, number>;
}

function deliberationOn(scene: Scene, { all, candidates, budgets }: Found): MethodInput {
  const { snapshot, pools, inProgress, spotToSpot, consolidation, experiments, elapsedMs } = scene;
  const startedMs = elapsedMs();
  const deliberation: MethodInput = {
    nowMs: snapshot.nowMs,
    candidates,
    budgets,
    totals: poolTotals(snapshot.nodes, all, pools),
    pools: withTypes(pools),
    claims: claimCounts(snapshot.nodes, inProgress),
    spotToSpot,
    consolidation,
    unseenPools: new Set(),
    elapsedMs: () => elapsedMs() - startedMs,
    simulate: async (gone, options) =>
      experiments.without(
        gone.map(({ providerId }) => providerId),
        options,
      ),
    refresh: async () => deliberation, // nothing moves in a snapshot
  };
  return deliberation;
}
