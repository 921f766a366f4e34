/** Contract of the algorithms that decide which nodes to disrupt. */

import type { NodePool } from '#api/objects';
import type { ConsolidationMode } from '#api/values';
import type { PoolInput } from '../model.ts';
import type { CommittedUse } from '../price-book/committed-use.ts';
import type { ClaimCounts } from './candidates/claim-counts.ts';
import type { Candidate, Command } from './command.ts';
import { fitsBudgets, type Gangs, NO_GANGS, unitOf, wholeGangs } from './gang-nodes.ts';
import type { Evaluation, PoolTotals } from './pricing/balance.ts';
import type { Forecast } from './pricing/forecast.ts';
import type { DeclineCode, DisruptionReason, Reason } from './reasons.ts';
import type { Simulation, SimulationOptions } from './simulations/simulation.ts';
import type { TriedSets } from './tried-sets.ts';

/** Event about a candidate or a NodePool. */
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
  /** Values that distinguish two events of this kind about the same object. */
  readonly dedupe?: readonly string[];
}

/** Candidate that a method declines, with the reason. */
export interface Declined {
  readonly candidate: Candidate;
  readonly reason: Reason<DeclineCode>;
  /** True if an Unconsolidatable event reports the reason. */
  readonly isReported: boolean;
}

type Refusal = Omit<Declined, 'candidate'>;

/** Returns the refusal of the first condition that does not hold, or undefined if all conditions hold. */
export const refusalBy = (conditions: readonly (readonly [holds: boolean, refusal: Refusal])[]): Refusal | undefined =>
  conditions.find(([holds]) => !holds)?.[1];

/** Returns a refusal without an event. */
export const declined = (code: DeclineCode, text: string): Refusal => ({ reason: { code, text }, isReported: false });

/** Returns a refusal with an event. */
export const unconsolidatable = (code: DeclineCode, text: string): Refusal => ({
  reason: { code, text },
  isReported: true,
});

/** Returns the reason for a candidate that stays because the budgets of its NodePool allow no further disruption now. */
export function overBudget(
  { nodePool, providerId }: Candidate,
  reason: DisruptionReason,
  gangs?: Gangs,
): Reason<DeclineCode> {
  const { text, candidates = [] } = gangs?.get(providerId) ?? {};
  const what =
    text === undefined
      ? 'no further disruption'
      : `not ${candidates.length} further disruptions, which ${text} needs together,`;
  return {
    code: 'budget',
    text: `the budgets of its NodePool allow ${what} for reason ${reason}`,
    object: { kind: 'NodePool', name: nodePool.metadata.name },
  };
}

export interface MethodResult {
  readonly commands: readonly Command[];
  /**
   * True if the method found no command and will not find one until something changes. False if a budget excluded a candidate,
   * because that candidate may be disrupted later.
   */
  readonly exhausted: boolean;
  /** Log entry for a search that stopped because of its time limit. */
  readonly timeout?: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> };
  /** NodePools that the search did not reach. */
  readonly unseenPools?: ReadonlySet<string>;
  readonly events: readonly DisruptionEvent[];
  readonly evaluations?: readonly Evaluation[];
  /** All evaluations of moves during the search, for the log. Default: `evaluations`. */
  readonly weighed?: readonly Evaluation[];
  /** Reasons why evaluated candidates stay, by provider id. */
  readonly reasons?: ReadonlyMap<string, Reason<DeclineCode>>;
  /** Errors to log that prevented a decision about a node. The method skipped these nodes. */
  readonly failures?: readonly { readonly node: string; readonly error: string }[];
}

export interface Validated {
  readonly command?: Command;
  /** Reason why this command is no longer valid after the validation delay. */
  readonly failure?: {
    readonly category: 'budget' | 'churn' | 'scheduling';
    readonly text: string;
    /** Number of candidates to which the failure applies. */
    readonly failed: number;
  };
  /** Number of candidates removed from a command that is still valid for its other candidates. */
  readonly dropped: number;
  readonly events?: readonly DisruptionEvent[];
}

/** Input of a method. */
export interface MethodInput {
  readonly nowMs: number;
  /** Candidates that passed the filter of this method. */
  readonly candidates: readonly Candidate[];
  /**
   * Number of further nodes that each NodePool may lose for the reason of this method. 0 if the NodePool is not listed.
   */
  readonly budgets: ReadonlyMap<string, number>;
  /** Simulates the cluster without some candidates. Returns undefined if one of them is being deleted now. */
  readonly simulate: (candidates: readonly Candidate[], options: SimulationOptions) => Promise<Simulation | undefined>;
  /**
   * All nodes that a command with this node must include, by provider id of the node. Nodes that can be disrupted alone are
   * absent.
   */
  readonly gangs?: Gangs;
  /** Returns the milliseconds since this method began to decide. */
  readonly elapsedMs: () => number;
  /** Totals of the NodePools that have candidates, by name. */
  readonly totals: ReadonlyMap<string, PoolTotals>;
  /** Forecasts for each NodePool, by name. Undefined if no nodes are marked so that they become empty on their own. */
  readonly forecasts?: ReadonlyMap<string, Forecast> | undefined;
  /** True if moves that do not pay are not declined, because their prices are only shown. */
  readonly showsPrices?: boolean | undefined;
  /** Feature gate SpotToSpotConsolidation. */
  readonly spotToSpot: boolean;
  readonly consolidation: ConsolidationMode;
  /** NodePools that an earlier search of this method did not reach in time. */
  readonly unseenPools: ReadonlySet<string>;
  /** Managed NodePools that have instance types, by name. */
  readonly pools: ReadonlyMap<string, PoolInput>;
  /** Use of commitments by the cluster. Undefined if there are no commitments, and in Karpenter-compatible consolidation. */
  readonly committed?: CommittedUse | undefined;
  /** Counts of NodeClaims by NodePool name. NodePools without NodeClaims are absent. */
  readonly claims: ReadonlyMap<string, ClaimCounts>;
  /** Sets of nodes that earlier searches evaluated without success. If absent, the method does not store such sets. */
  readonly tried?: TriedSets;
  /** Returns the same input for the current state of the cluster. */
  readonly refresh: () => Promise<MethodInput>;
}

/** Settings that decide about the methods of an operator. */
export interface MethodConditions {
  readonly swapsNodes: boolean;
  readonly hasStaticCapacity: boolean;
}

export interface Method {
  /** Name for the logs of the disruption loop. */
  readonly name: string;
  readonly reason: DisruptionReason;
  /**
   * `graceful` methods skip nodes if their pods must not be moved. `eventual` methods may disrupt such nodes if the
   * `terminationGracePeriod` of the NodeClaim will eventually remove the pods.
   */
  readonly class: 'graceful' | 'eventual';
  /** Metric label. It is empty for methods that do not consolidate nodes. */
  readonly consolidationType: string;
  /** `nodes`: evaluates each node on its own, so that its verdicts concern the node alone. `sets`: evaluates sets of nodes. */
  readonly evaluates: 'nodes' | 'sets';
  /** Returns true if an operator runs this method. If absent, every operator runs it. */
  runsIn?(conditions: MethodConditions): boolean;
  /** True if this method runs simulations to decide. This can take a long time. */
  readonly isSearch?: boolean;
  /** Delay before a command is validated against the current cluster. If absent, the command is executed immediately. */
  readonly validateAfterMs?: number;
  /** Debug message for a command that failed its validation. */
  readonly abandoned?: string;
  /** Returns the reason why this method declines a candidate, or undefined if it accepts the candidate. */
  filter(candidate: Candidate): Refusal | undefined;
  /** Returns the best commands now. Has no side effects outside. */
  decide(input: MethodInput): Promise<MethodResult>;
  /** Validates a command against a later state of the cluster. */
  validate?(command: Command, later: MethodInput): Promise<Validated>;
}

/** Delay in milliseconds before consolidation validates its own decision. */
export const VALIDATION_DELAY_MS = 15_000;

/** Returns the reasons for candidates that a method could not accept because of their budgets. */
export const overBudgets = (
  skipped: readonly Candidate[],
  reason: DisruptionReason,
  gangs?: Gangs,
): ReadonlyMap<string, Reason<DeclineCode>> =>
  new Map(skipped.map((candidate) => [candidate.providerId, overBudget(candidate, reason, gangs)]));

/**
 * Accepts candidates in order until the budget of their NodePool is exhausted. The nodes of a gang are accepted together, at the
 * place of the first of them, or not at all.
 */
export function withinBudgets(
  candidates: readonly Candidate[],
  budgets: ReadonlyMap<string, number>,
  gangs: Gangs = NO_GANGS,
): { readonly taken: readonly Candidate[]; readonly skipped: readonly Candidate[]; readonly constrained: boolean } {
  const rest = new Map(budgets);
  const taken: Candidate[] = [];
  const skipped: Candidate[] = [];
  const seen = new Set<Candidate>();
  for (const candidate of gangs.size === 0 ? candidates : wholeGangs(candidates, gangs, skipped)) {
    if (seen.has(candidate)) continue;
    const unit = unitOf(candidate, gangs);
    const isWithin = fitsBudgets(unit, rest);
    if (isWithin)
      for (const pool of unit.map(({ nodePool }) => nodePool.metadata.name)) rest.set(pool, (rest.get(pool) ?? 0) - 1);
    (isWithin ? taken : skipped).push(...unit);
    for (const each of unit) seen.add(each);
  }
  return { taken, skipped, constrained: skipped.length > 0 };
}
