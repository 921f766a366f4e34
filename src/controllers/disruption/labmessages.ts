/** What goes between the operator and the thread of its laboratory. All of it can be cloned. */
import type { NodePool } from '../../api/nodepool.ts';
import type { Evaluation, PoolTotals } from '../../engine/disruption/balance.ts';
import type { ClaimCounts } from '../../engine/disruption/claimcounts.ts';
import type { Command } from '../../engine/disruption/command.ts';
import type { ConsolidationMode, Findings, Note } from '../../engine/disruption/method.ts';
import type { Simulation, SimulationOptions } from '../../engine/disruption/simulation.ts';
import type { SolveOptions } from '../../engine/model.ts';
import type { NumberedPool, SnapshotFrame } from '../enginemessages.ts';

/** What of a scenery is small enough to go over each time. */
export interface Backdrop {
  readonly frame: SnapshotFrame;
  readonly nodePools: readonly NodePool[];
  readonly solve: Omit<SolveOptions, 'elapsedMs' | 'working'>;
  /** Pods that are moved in no experiment, by namespaced name, and why. */
  readonly untouched: ReadonlyMap<string, string>;
}

/** A deliberation, with provider ids for candidates. */
export interface Question {
  readonly method: string;
  readonly nowMs: number;
  readonly candidates: readonly string[];
  readonly budgets: ReadonlyMap<string, number>;
  readonly totals: ReadonlyMap<string, PoolTotals>;
  readonly spotToSpot: boolean;
  readonly consolidation: ConsolidationMode;
  readonly unseenPools: ReadonlySet<string>;
  readonly pools: readonly NumberedPool[];
  readonly claims: ReadonlyMap<string, ClaimCounts>;
}

/** Findings, with provider ids for candidates and names for NodePools. */
export interface FindingsInWords extends Omit<Findings, 'commands' | 'notes' | 'evaluations' | 'weighed'> {
  readonly commands: readonly (Omit<Command, 'candidates'> & { readonly candidates: readonly string[] })[];
  readonly notes: readonly (Omit<Note, 'candidate' | 'nodePool'> & {
    readonly candidate?: string;
    readonly nodePool?: string;
  })[];
  readonly evaluations: readonly EvaluationInWords[];
  readonly weighed?: readonly EvaluationInWords[];
}

export type EvaluationInWords = Omit<Evaluation, 'nodePool'> & { readonly nodePool: string };

/** A simulation without what the near side knows anyway. */
export type SimulationInWords = Omit<Simulation, 'pools'>;

export type Message =
  /** From here on, experiments are made on what the lists hold now. */
  | { readonly kind: 'scene'; readonly backdrop: Backdrop }
  | {
      readonly kind: 'simulate';
      readonly job: number;
      readonly gone: readonly string[];
      readonly options: SimulationOptions;
    }
  | { readonly kind: 'decide'; readonly job: number; readonly question: Question };

export type Answer =
  | { readonly job: number; readonly simulation: SimulationInWords | undefined }
  | { readonly job: number; readonly findings: FindingsInWords };
