/** The contract of the algorithms that decide which nodes to disrupt. */
import type { NodePool } from '../../api/nodepool.ts';
import type { PoolInput } from '../model.ts';
import type { Evaluation, PoolTotals } from './balance.ts';
import type { Candidate } from './candidates.ts';
import type { Command } from './command.ts';
import type { DisruptionClass, DisruptionReason } from './reasons.ts';
import type { Simulation, SimulationOptions } from './simulation.ts';
import type { ClaimCounts } from './staticdrift.ts';

/** Something to tell the user about a candidate, or about a NodePool. */
export interface Note {
  readonly kind:
    | 'Unconsolidatable'
    | 'DisruptionBlocked'
    | 'ConsolidationCandidate'
    | 'ConsolidationApproved'
    | 'ConsolidationRejected';
  readonly candidate?: Candidate;
  readonly nodePool?: NodePool;
  readonly message: string;
  /** What besides the object makes two notes of this kind different. */
  readonly dedupe?: readonly string[];
}

export interface FilterVerdict {
  readonly eligible: boolean;
  /** Text of an Unconsolidatable event. */
  readonly because?: string;
}

export interface Findings {
  readonly commands: readonly Command[];
  /** Nothing was found, nor will be until something changes: a candidate passed over for a budget may still go later. */
  readonly exhausted: boolean;
  /** The search stopped for want of time: what to log. */
  readonly timeout?: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> };
  /** NodePools that the search has not come to. */
  readonly unseenPools?: ReadonlySet<string>;
  readonly notes: readonly Note[];
  readonly evaluations?: readonly Evaluation[];
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
  readonly notes?: readonly Note[];
}

/** What a method may look at. */
export interface Deliberation {
  readonly nowMs: number;
  /** Those that passed the method's filter. */
  readonly candidates: readonly Candidate[];
  /** How many more nodes each NodePool lets go for the method's reason; none when it is not listed. */
  readonly budgets: ReadonlyMap<string, number>;
  /** Solves the cluster without some candidates; undefined when one of them is being deleted meanwhile. */
  readonly simulate: (candidates: readonly Candidate[], options: SimulationOptions) => Promise<Simulation | undefined>;
  /** Milliseconds since the deliberation began. */
  readonly elapsedMs: () => number;
  /** Of the NodePools that have candidates, by name. */
  readonly totals: ReadonlyMap<string, PoolTotals>;
  /** Feature gate SpotToSpotConsolidation. */
  readonly spotToSpot: boolean;
  /** NodePools that an earlier search of the method had no time for. */
  readonly unseenPools: ReadonlySet<string>;
  /** Managed NodePools that have instance types, by name. */
  readonly pools: ReadonlyMap<string, PoolInput>;
  /** Claims of the NodePools that have any, by name. */
  readonly claims: ReadonlyMap<string, ClaimCounts>;
  /** The same question asked again now. */
  readonly refresh: () => Promise<Deliberation>;
}

export interface Method {
  /** For logs of the loop. */
  readonly name: string;
  readonly reason: DisruptionReason;
  readonly class: DisruptionClass;
  /** Metric label. */
  readonly consolidationType: '' | 'empty' | 'multi' | 'single';
  /** Time to wait before a command is checked again against what is then; none when it is carried out at once. */
  readonly validateAfterMs?: number;
  /** Debug message for a command that did not stand the test of time. */
  readonly abandoned?: string;
  filter(candidate: Candidate): FilterVerdict;
  /** The best commands now. Does nothing outside. */
  decide(deliberation: Deliberation): Promise<Findings>;
  /** Holds a command against a later deliberation. */
  validate?(command: Command, later: Deliberation): Promise<Validated>;
}

/** Milliseconds that consolidation waits before it believes its own decision. */
export const VALIDATION_DELAY_MS = 15_000;

/** Takes candidates in order as far as the budgets of their pools reach. */
export function withinBudgets(
  candidates: readonly Candidate[],
  budgets: ReadonlyMap<string, number>,
): { readonly taken: readonly Candidate[]; readonly constrained: boolean } {
  const rest = new Map(budgets);
  const taken = candidates.filter(({ nodePool }) => {
    const left = rest.get(nodePool.metadata.name) ?? 0;
    if (left > 0) rest.set(nodePool.metadata.name, left - 1);
    return left > 0;
  });
  return { taken, constrained: taken.length < candidates.length };
}
