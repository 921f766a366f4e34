/** The contract of the algorithms that decide which nodes to disrupt. */
import type { NodePool } from '../../api/nodepool.ts';
import type { PoolInput } from '../model.ts';
import type { CommittedUse } from '../price-book/committed-use.ts';
import type { Candidate } from './candidates/candidates.ts';
import type { ClaimCounts } from './candidates/claim-counts.ts';
import type { Command } from './command.ts';
import type { Evaluation, PoolTotals } from './pricing/balance.ts';
import type { Undone } from './pricing/churn.ts';
import type { DeclineCode, DisruptionClass, DisruptionReason, Reason } from './reasons.ts';
import type { Simulation, SimulationOptions } from './simulations/simulation.ts';
import type { TriedSets } from './tried-sets.ts';

/** An event about a candidate, or about a NodePool. */
export interface DisruptionEvent {
  readonly kind:
    | 'Unconsolidatable'
    | 'DisruptionBlocked'
    | 'ConsolidationCandidate'
    | 'ConsolidationApproved'
    | 'ConsolidationRejected';
  readonly candidate?: Candidate;
  readonly nodePool?: NodePool;
  readonly message: string;
  /** What besides the object makes two events of this kind different. */
  readonly dedupe?: readonly string[];
}

/** Whether a method takes a candidate; if not, why, and whether an Unconsolidatable event reports it. */
export type FilterVerdict =
  | { readonly eligible: true }
  | { readonly eligible: false; readonly reason: Reason<DeclineCode>; readonly isReported: boolean };

const ELIGIBLE: FilterVerdict = { eligible: true };

/** What a method says of its candidate by the first of its conditions that does not hold. */
export function verdictOf(conditions: readonly (readonly [holds: boolean, refusal: FilterVerdict])[]): FilterVerdict {
  return conditions.find(([holds]) => !holds)?.[1] ?? ELIGIBLE;
}

/** Said quietly: there is no event for it. */
export const declined = (code: DeclineCode, text: string): FilterVerdict => ({
  eligible: false,
  reason: { code, text },
  isReported: false,
});

export const unconsolidatable = (code: DeclineCode, text: string): FilterVerdict => ({
  eligible: false,
  reason: { code, text },
  isReported: true,
});

/** Why a candidate stays because its NodePool lets no more nodes go for now. */
export const overBudget = ({ nodePool }: Candidate, reason: DisruptionReason): Reason<DeclineCode> => ({
  code: 'budget',
  text: `the budgets of its NodePool let no more nodes go for reason ${reason}`,
  object: { kind: 'NodePool', name: nodePool.metadata.name },
});

/** An error that kept a method from deciding about a node, which it then left alone. */
export interface Failure {
  readonly node: string;
  readonly error: string;
}

export interface MethodResult {
  readonly commands: readonly Command[];
  /** Nothing was found, nor will be until something changes: a candidate passed over for a budget may still go later. */
  readonly exhausted: boolean;
  /** The search stopped for want of time: what to log. */
  readonly timeout?: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> };
  /** NodePools that the search has not reached. */
  readonly unseenPools?: ReadonlySet<string>;
  readonly events: readonly DisruptionEvent[];
  readonly evaluations?: readonly Evaluation[];
  /** All views on moves that the search came by, for the log; `evaluations` when left out. */
  readonly weighed?: readonly Evaluation[];
  /** Why candidates that were looked at stay, by provider id. */
  readonly reasons?: ReadonlyMap<string, Reason<DeclineCode>>;
  /** Defects: what to log. */
  readonly failures?: readonly Failure[];
}

/** Why a command no longer holds after the validation delay. */
export interface ValidationFailure {
  readonly category: 'budget' | 'churn' | 'scheduling';
  readonly text: string;
  /** Candidates that the failure counts for. */
  readonly failed: number;
}

export interface Validated {
  readonly command?: Command;
  readonly failure?: ValidationFailure;
  /** Candidates dropped from a command that holds for the others. */
  readonly dropped: number;
  readonly events?: readonly DisruptionEvent[];
}

/** `compatible` finds what Karpenter finds; `thorough`, the default, looks on where that ends. */
export type ConsolidationMode = 'thorough' | 'compatible';

/** What a method may look at. */
export interface MethodInput {
  readonly nowMs: number;
  /** Those that passed the method's filter. */
  readonly candidates: readonly Candidate[];
  /** How many more nodes each NodePool lets go for the method's reason; none when it is not listed. */
  readonly budgets: ReadonlyMap<string, number>;
  /** Solves the cluster without some candidates; undefined when one of them is being deleted meanwhile. */
  readonly simulate: (candidates: readonly Candidate[], options: SimulationOptions) => Promise<Simulation | undefined>;
  /** Milliseconds since the method began to decide. */
  readonly elapsedMs: () => number;
  /** Of the NodePools that have candidates, by name. */
  readonly totals: ReadonlyMap<string, PoolTotals>;
  /** Moves that were undone lately; none where consolidation is Karpenter's. */
  readonly undone: readonly Undone[];
  /** Feature gate SpotToSpotConsolidation. */
  readonly spotToSpot: boolean;
  readonly consolidation: ConsolidationMode;
  /** NodePools that an earlier search of the method had no time for. */
  readonly unseenPools: ReadonlySet<string>;
  /** Managed NodePools that have instance types, by name. */
  readonly pools: ReadonlyMap<string, PoolInput>;
  /** What the cluster uses of commitments; undefined where there are none, or where consolidation is Karpenter's. */
  readonly committed?: CommittedUse | undefined;
  /** Claims of the NodePools that have any, by name. */
  readonly claims: ReadonlyMap<string, ClaimCounts>;
  /** What earlier searches weighed in vain; nothing is remembered when absent. */
  readonly tried?: TriedSets;
  /** The same, of the cluster as it is by then. */
  readonly refresh: () => Promise<MethodInput>;
}

export interface Method {
  /** For logs of the loop. */
  readonly name: string;
  readonly reason: DisruptionReason;
  readonly class: DisruptionClass;
  /** Metric label. */
  readonly consolidationType: '' | 'empty' | 'multi' | 'single' | 'swap';
  /** Whether it runs simulations to decide, which can take long. */
  readonly isSearch?: boolean;
  /** Time to wait before a command is checked again against what is then; none when it is carried out at once. */
  readonly validateAfterMs?: number;
  /** Debug message for a command that did not stand the test of time. */
  readonly abandoned?: string;
  filter(candidate: Candidate): FilterVerdict;
  /** The best commands now. Does nothing outside. */
  decide(input: MethodInput): Promise<MethodResult>;
  /** Holds a command against the cluster as it is later. */
  validate?(command: Command, later: MethodInput): Promise<Validated>;
}

/** Milliseconds that consolidation waits before it believes its own decision. */
export const VALIDATION_DELAY_MS = 15_000;

/** For the result of a method that could not take some candidates because of their budgets. */
export const overBudgets = (
  skipped: readonly Candidate[],
  reason: DisruptionReason,
): ReadonlyMap<string, Reason<DeclineCode>> =>
  new Map(skipped.map((candidate) => [candidate.providerId, overBudget(candidate, reason)]));

/** Takes candidates in order as far as the budgets of their pools reach. */
export function withinBudgets(
  candidates: readonly Candidate[],
  budgets: ReadonlyMap<string, number>,
): { readonly taken: readonly Candidate[]; readonly skipped: readonly Candidate[]; readonly constrained: boolean } {
  const rest = new Map(budgets);
  const taken: Candidate[] = [];
  const skipped: Candidate[] = [];
  for (const candidate of candidates) {
    const pool = candidate.nodePool.metadata.name;
    const left = rest.get(pool) ?? 0;
    if (left > 0) rest.set(pool, left - 1);
    (left > 0 ? taken : skipped).push(candidate);
  }
  return { taken, skipped, constrained: skipped.length > 0 };
}
