/**
 * Runs one disruption method on one state of the cluster in two steps. `prepare` finds the candidates of the method, and records
 * for every other node why it stays. `decide` runs the method. The operator, its engine worker and `karpenter simulate
 * --disruption` all use these functions.
 */

import type { PodDisruptionBudget } from '../../api/kubernetes.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { messageOf } from '../../lib/error-message.ts';
import type { StateNode } from '../model.ts';
import { allowances } from './budgets/budgets.ts';
import { type Block, type Candidate, type CandidateContext, candidateOf, isBlock } from './candidates/candidates.ts';
import type { FilterVerdict, Method, MethodInput, MethodResult } from './method.ts';
import { type PoolTotals, poolTotals } from './pricing/balance.ts';
import { type Memory, notWorthRepeating, type Undone } from './pricing/churn.ts';
import type { DisruptionClass } from './reasons.ts';
import type { Simulator } from './simulations/simulator.ts';
import type { Declined, MethodReview } from './verdicts.ts';

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
    | 'simulate'
    | 'elapsedMs'
  > {
  readonly nodes: readonly StateNode[];
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
  /** All managed NodePools, including NodePools that have no instance types now. */
  readonly nodePools: readonly NodePool[];
  /** Provider ids of the nodes that belong to a command in progress. */
  readonly inProgress: ReadonlySet<string>;
  /** Moves that were undone. */
  readonly undone: readonly Undone[];
}

/** Result of `prepare`, with the input for the decision of the method. */
export interface Preparation extends Omit<MethodReview, 'result'> {
  readonly input: MethodInput;
}

const NOTHING: MethodResult = { commands: [], exhausted: true, events: [] };
/** Returns a promise that lets other work run, or undefined if no pause is necessary. */
type Pause = () => Promise<void> | undefined;
const withoutPause: Pause = () => undefined;

interface PrepareOptions {
  /** Surveys by earlier calls for the same cluster. They are valid until `nextChangeMs`. The call adds its own surveys. */
  readonly surveys?: Surveys;
  /** Called after each node. */
  readonly pause?: Pause;
}

export async function prepare(
  method: Method,
  pass: PassInput,
  { surveys = new Map(), pause = withoutPause }: PrepareOptions = {},
): Promise<Preparation> {
  const { nodes, nowMs, pools } = pass;
  const { found, blocks, totals } = await surveyed(method.class, pass, { surveys, pause });
  const memory: Memory = { nowMs, undone: pass.undone, totals };
  const declined = new Map<string, Declined>();
  const candidates: Candidate[] = [];
  for (const candidate of found) {
    const verdict = verdictOn(candidate, method, memory);
    if (verdict.eligible) candidates.push(candidate);
    else declined.set(candidate.providerId, { candidate, ...verdict });
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
  readonly blocks: ReadonlyMap<string, Block>;
  /** Totals of the NodePools that have candidates, by name. */
  readonly totals: ReadonlyMap<string, PoolTotals>;
}

/** Surveys by class. All methods of a class share one survey. */
export type Surveys = Map<DisruptionClass, Promise<Survey>>;

function surveyed(
  disruptionClass: DisruptionClass,
  pass: PassInput,
  { surveys, pause }: Required<PrepareOptions>,
): Promise<Survey> {
  const known = surveys.get(disruptionClass);
  if (known !== undefined) return known;
  const survey = surveyOf(disruptionClass, pass, pause);
  surveys.set(disruptionClass, survey);
  return survey;
}

async function surveyOf(disruptionClass: DisruptionClass, pass: PassInput, pause: Pause): Promise<Survey> {
  const { nodes, pools } = pass;
  const context: CandidateContext = { ...pass, class: disruptionClass };
  const found: Candidate[] = [];
  const blocks = new Map<string, Block>();
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

function verdictOn(candidate: Candidate, method: Method, memory: Memory): FilterVerdict {
  const verdict = filtered(candidate, method);
  if (!verdict.eligible || method.reason !== 'Underutilized') return verdict;
  const why = notWorthRepeating(candidate, memory);
  return why === undefined ? verdict : { eligible: false, isReported: false, reason: why };
}

/** Applies the method's filter. A candidate for which the filter throws must not prevent a verdict on the rest. */
function filtered(candidate: Candidate, method: Method): FilterVerdict {
  try {
    return method.filter(candidate);
  } catch (error) {
    const text = `node cannot be judged, ${messageOf(error)}`;
    return { eligible: false, isReported: true, reason: { code: 'failed', text } };
  }
}
