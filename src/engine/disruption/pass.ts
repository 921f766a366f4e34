/**
 * Runs one disruption method on one state of the cluster in two steps. `prepare` finds the candidates of the method, and records
 * for every other node why it stays. `decide` runs the method. The operator, its engine worker and `karpenter simulate
 * --disruption` all use these functions.
 */

import type { PodDisruptionBudget } from '../../api/kubernetes.ts';
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { messageOf } from '../../lib/error-message.ts';
import type { PoolInput, Snapshot, StateNode } from '../model.ts';
import { CommittedUse } from '../price-book/committed-use.ts';
import { allowances } from './budgets/budgets.ts';
import { type Candidate, candidateOf, isBlock } from './candidates/candidates.ts';
import { claimCounts } from './candidates/claim-counts.ts';
import type { Declined, Method, MethodInput, MethodResult } from './method.ts';
import { type PoolTotals, poolTotals } from './pricing/balance.ts';
import { notWorthRepeating } from './pricing/churn.ts';
import type { BlockCode, Reason } from './reasons.ts';
import type { Simulator } from './simulations/simulator.ts';
import type { MethodReview } from './verdicts.ts';

/** Input of a pass. */
export interface PassInput
  extends Pick<
    MethodInput,
    | 'nowMs'
    | 'pools'
    | 'claims'
    | 'spotToSpot'
    | 'consolidation'
    | 'unseenPools'
    | 'committed'
    | 'undone'
    | 'simulate'
    | 'elapsedMs'
  > {
  readonly nodes: readonly StateNode[];
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
  /** All managed NodePools, including NodePools that have no instance types now. */
  readonly nodePools: readonly NodePool[];
  /** Provider ids of the nodes that belong to a command in progress. */
  readonly inProgress: ReadonlySet<string>;
  /** Surveys by earlier methods for the same cluster. They are valid until `nextChangeMs`. `prepare` adds its own surveys. */
  readonly surveys: Map<Method['class'], Promise<Survey>>;
}

interface ClusterObjects extends Pick<Snapshot, 'nodes' | 'podDisruptionBudgets'> {
  readonly commitments?: Snapshot['commitments'] | undefined;
}

/**
 * Returns the part of the input that depends on the cluster only. The nodes of NodePools without instance types are no
 * candidates, because their cost and their possible replacements are unknown.
 * @param pools all managed NodePools
 */
export function passCluster(
  { nodes, podDisruptionBudgets, commitments }: ClusterObjects,
  pools: readonly PoolInput[],
  { inProgress, consolidation }: Pick<PassInput, 'inProgress' | 'consolidation'>,
): Omit<PassInput, 'nowMs' | 'spotToSpot' | 'unseenPools' | 'undone' | 'simulate' | 'elapsedMs'> {
  const inUse = new Set(nodes.map(({ labels }) => labels[NODEPOOL_LABEL]));
  const priced = pools.filter(
    ({ nodePool, instanceTypes }) => inUse.has(nodePool.metadata.name) && instanceTypes.length > 0,
  );
  return {
    nodes,
    podDisruptionBudgets,
    nodePools: pools.map(({ nodePool }) => nodePool),
    pools: new Map(priced.map((pool) => [pool.nodePool.metadata.name, pool])),
    inProgress,
    claims: claimCounts(nodes, inProgress),
    consolidation,
    committed: committedUse({ commitments, nodes }, priced, consolidation),
    surveys: new Map(),
  };
}

/** Returns undefined if there are no commitments, and in Karpenter-compatible consolidation, which ignores commitments. */
export const committedUse = (
  { commitments, nodes }: Pick<ClusterObjects, 'commitments' | 'nodes'>,
  pools: readonly PoolInput[],
  consolidation: PassInput['consolidation'],
): CommittedUse | undefined =>
  consolidation === 'compatible' ? undefined : CommittedUse.of(commitments, nodes, pools);

/** Result of `prepare`, with the input for the decision of the method. */
export interface Preparation extends Omit<MethodReview, 'result'> {
  readonly input: MethodInput;
}

const NOTHING: MethodResult = { commands: [], exhausted: true, events: [] };
/** Returns a promise that lets other work run, or undefined if no pause is necessary. */
type Pause = () => Promise<void> | undefined;
const withoutPause: Pause = () => undefined;

/** Prepares a method. @param pause called after each node */
export async function prepare(method: Method, pass: PassInput, pause: Pause = withoutPause): Promise<Preparation> {
  const { nodes, nowMs, pools, surveys } = pass;
  const survey = surveys.get(method.class) ?? surveyOf(method.class, pass, pause);
  surveys.set(method.class, survey);
  const { found, blocks, totals } = await survey;
  const memory = { nowMs, undone: pass.undone, totals };
  const declined = new Map<string, Declined>();
  const candidates: Candidate[] = [];
  for (const candidate of found) {
    const refusal = refusalOf(candidate, method, memory);
    if (refusal === undefined) candidates.push(candidate);
    else declined.set(candidate.providerId, refusal);
    const turn = pause();
    if (turn !== undefined) await turn;
  }
  const allowed = allowances(nodes, pass.nodePools, { reason: method.reason, nowMs });
  const input: MethodInput = {
    nowMs,
    candidates,
    budgets: new Map([...allowed].map(([name, { remaining }]) => [name, remaining])),
    totals,
    undone: pass.undone,
    pools,
    claims: pass.claims,
    spotToSpot: pass.spotToSpot,
    consolidation: pass.consolidation,
    unseenPools: pass.unseenPools,
    committed: pass.committed,
    simulate: pass.simulate,
    elapsedMs: pass.elapsedMs,
    // the cluster of the pass does not change; a caller with newer state replaces this function
    refresh: async () => input,
  };
  return { method, blocks, declined, candidates, allowances: allowed, input };
}

/** Returns the result of the method. If there are no candidates, does not run the method. */
export async function decide({ method, candidates, input }: Preparation): Promise<MethodResult> {
  return candidates.length === 0 ? NOTHING : method.decide(input);
}

/** Returns a function for `MethodInput.simulate` that runs simulations in this thread. */
export const simulateOn =
  (simulator: Simulator): MethodInput['simulate'] =>
  async (candidates, options) =>
    simulator.without(
      candidates.map(({ providerId }) => providerId),
      options,
    );

/** Candidates of a disruption class, and the reasons why the remaining nodes are not candidates. */
interface Survey {
  readonly found: readonly Candidate[];
  readonly blocks: ReadonlyMap<string, Reason<BlockCode>>;
  /** Totals of the NodePools that have candidates, by name. */
  readonly totals: ReadonlyMap<string, PoolTotals>;
}

async function surveyOf(disruptionClass: Method['class'], pass: PassInput, pause: Pause): Promise<Survey> {
  const { nodes, pools } = pass;
  const context = { ...pass, class: disruptionClass };
  const found: Candidate[] = [];
  const blocks = new Map<string, Reason<BlockCode>>();
  for (const node of nodes) {
    const result = candidateOf(node, context);
    if (isBlock(result)) blocks.set(node.providerId, result);
    else found.push(result);
    // an await without need takes longer than most verdicts
    const turn = pause();
    if (turn !== undefined) await turn;
  }
  return { found, blocks, totals: poolTotals(nodes, found, pools) };
}

type Memory = Parameters<typeof notWorthRepeating>[1];

/** Returns the refusal of the method. A candidate for which the filter throws must not prevent verdicts on other candidates. */
function refusalOf(candidate: Candidate, method: Method, memory: Memory): Declined | undefined {
  try {
    const refusal = method.filter(candidate);
    if (refusal !== undefined || method.reason !== 'Underutilized') return refusal && { candidate, ...refusal };
  } catch (error) {
    const text = `node cannot be judged, ${messageOf(error)}`;
    return { candidate, isReported: true, reason: { code: 'failed', text } };
  }
  const reason = notWorthRepeating(candidate, memory);
  return reason && { candidate, isReported: false, reason };
}
