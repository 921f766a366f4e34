/** What goes between the operator and an engine worker. All of it can be cloned. */
import type { NodePool } from '../api/nodepool.ts';
import type { Command } from '../engine/disruption/command.ts';
import type { DisruptionEvent, MethodInput, MethodResult } from '../engine/disruption/method.ts';
import type { Evaluation } from '../engine/disruption/pricing/balance.ts';
import type { Simulation, SimulationOptions } from '../engine/disruption/simulations/simulation.ts';
import type { Plan, Snapshot, SolveOptions } from '../engine/model.ts';
import type { NodeExtras } from '../engine/node-extras.ts';
import type { EngineThreadName } from '../process/gc-seconds.ts';
import type { ListMessage } from './copied-lists.ts';
import type { TypesMessage } from './instance-type-lists.ts';
import type { SharedBoard } from './progress-board.ts';

/** What a worker gets when it starts. */
export interface WorkerData {
  readonly name: EngineThreadName;
  readonly board: SharedBoard;
}

/** The lists of a snapshot of which a worker keeps copies. */
export const COPIED = [
  'nodes',
  'pendingPods',
  'daemonPods',
  'namespaces',
  'podDisruptionBudgets',
  'persistentVolumeClaims',
  'persistentVolumes',
  'storageClasses',
] as const;
export type CopiedName = (typeof COPIED)[number];

/** A NodePool with the number that its list of instance types goes by. */
export interface NumberedPool {
  readonly nodePool: NodePool;
  readonly types: number;
  readonly extras: NodeExtras | undefined;
}

/** What of a snapshot is small enough to be sent each time; its lists are those that the worker holds. */
export interface SerializedSnapshot {
  readonly rest: Omit<Snapshot, CopiedName | 'pools'>;
  readonly pools: readonly NumberedPool[];
}

/** Functions stay where they are. */
export type SerializedSolveOptions = Omit<SolveOptions, 'elapsedMs' | 'working'>;

export interface SerializedSimulationInput {
  readonly snapshot: SerializedSnapshot;
  readonly nodePools: readonly NodePool[];
  readonly solve: SerializedSolveOptions;
  /** Pods that no simulation moves, by namespaced name, and why. */
  readonly untouched: ReadonlyMap<string, string>;
}

/** What a worker is to hold from now on. There is no answer to it. */
export type StateMessage =
  | ListMessage
  | TypesMessage
  /** From here on, `simulate` and `decide` are about this cluster. */
  | { readonly kind: 'simulation-input'; readonly input: SerializedSimulationInput };

export interface SolveRequest {
  readonly snapshot: SerializedSnapshot;
  readonly options: SerializedSolveOptions;
}

export interface SimulateRequest {
  /** Provider ids of the nodes to do without. */
  readonly without: readonly string[];
  readonly options: SimulationOptions;
}

/** A method's input, with provider ids for candidates. */
export interface DecideRequest
  extends Pick<
    MethodInput,
    'nowMs' | 'budgets' | 'totals' | 'undone' | 'spotToSpot' | 'consolidation' | 'unseenPools' | 'claims'
  > {
  readonly method: string;
  readonly candidates: readonly string[];
  readonly pools: readonly NumberedPool[];
}

/** A simulation without what the operator knows anyway. */
export type SerializedSimulation = Omit<Simulation, 'pools'>;

export type SerializedEvaluation = Omit<Evaluation, 'nodePool'> & { readonly nodePool: string };

/** A method's result, with provider ids for candidates and names for NodePools. */
export interface SerializedMethodResult extends Omit<MethodResult, 'commands' | 'events' | 'evaluations' | 'weighed'> {
  readonly commands: readonly (Omit<Command, 'candidates'> & { readonly candidates: readonly string[] })[];
  readonly events: readonly (Omit<DisruptionEvent, 'candidate' | 'nodePool'> & {
    readonly candidate?: string;
    readonly nodePool?: string;
  })[];
  readonly evaluations: readonly SerializedEvaluation[];
  readonly weighed?: readonly SerializedEvaluation[];
}

/** Requests to a worker, by kind. */
export interface Requests {
  readonly solve: SolveRequest;
  readonly simulate: SimulateRequest;
  readonly decide: DecideRequest;
  /** To collect garbage. */
  readonly collect: undefined;
}

/** What it answers. */
export interface Results {
  readonly solve: Plan;
  /** Undefined when a node that was to be done without is being deleted already. */
  readonly simulate: SerializedSimulation | undefined;
  readonly decide: SerializedMethodResult;
  /** Milliseconds, unless its heap is too large for it. */
  readonly collect: number | undefined;
}

export type RequestKind = keyof Requests;

export type RequestMessage = {
  readonly [K in RequestKind]: { readonly kind: K; readonly job: number; readonly request: Requests[K] };
}[RequestKind];

export type ResponseMessage =
  | { readonly job: number; readonly result: Results[RequestKind] }
  | { readonly job: number; readonly error: string };
