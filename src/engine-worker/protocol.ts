/** Messages between the operator and an engine worker. All values can be cloned. */
import type { NodePool } from '#api/objects';
import type {
  Command,
  DisruptionEvent,
  Evaluation,
  MethodInput,
  MethodResult,
  Simulation,
  SimulationOptions,
} from '#engine/disruption';
import type { Plan, PoolInput, Snapshot, SolveOptions } from '#engine/model';
import type { RankedNode } from '#engine/solve';
import type { EngineThreadName } from '#process/memory';
import type { ListMessage } from './copied-lists.ts';
import type { TypesMessage } from './instance-type-lists.ts';
import type { SharedBoard } from './progress-board.ts';

/** Data that a worker receives at its start. */
export interface WorkerData {
  readonly name: EngineThreadName;
  readonly board: SharedBoard;
}

/** Lists of a snapshot that a worker keeps copies of. */
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

/** Lists that a snapshot has only if dynamic resources are not ignored. */
export const COPIED_DEVICES = [
  'resourceClaims',
  'resourceSlices',
  'deviceClasses',
  'deviceTaintRules',
  'resourceClaimTemplates',
] as const;
export type CopiedDevicesName = (typeof COPIED_DEVICES)[number];

/** A NodePool with the number of its list of instance types. */
export interface NumberedPool {
  readonly types: number;
  readonly rest: Omit<PoolInput, 'instanceTypes'>;
}

/** Parts of a snapshot that are small enough to be sent with each request. The worker has the lists of the snapshot. */
export interface SerializedSnapshot {
  readonly rest: Omit<Snapshot, CopiedName | CopiedDevicesName | 'pools'>;
  /** False while dynamic resources are ignored. */
  readonly hasDevices: boolean;
  readonly pools: readonly NumberedPool[];
}

/** Solve options without functions, because functions cannot be cloned. */
export type SerializedSolveOptions = Omit<SolveOptions, 'elapsedMs' | 'working'>;

export interface SerializedSimulationInput {
  readonly snapshot: SerializedSnapshot;
  readonly nodePools: readonly NodePool[];
  readonly solve: SerializedSolveOptions;
  /** Pods that no simulation moves, by namespaced name, with the reason. */
  readonly untouched: ReadonlyMap<string, string>;
}

/** Data that a worker must store. The worker does not respond to it. */
export type StateMessage =
  | ListMessage
  | TypesMessage
  /** Cluster for the `simulate` and `decide` requests that follow. */
  | { readonly kind: 'simulation-input'; readonly input: SerializedSimulationInput };

export interface SolveRequest {
  readonly snapshot: SerializedSnapshot;
  readonly options: SerializedSolveOptions;
}

export interface SimulateRequest {
  /** Provider ids of the nodes to remove in the simulation. */
  readonly without: readonly string[];
  readonly options: SimulationOptions;
}

export interface EmptiableRequest {
  /** All managed nodes, in the order in which they should become empty. */
  readonly worstFirst: readonly RankedNode[];
}

/** Input of a disruption method, with provider ids instead of candidates. */
export interface DecideRequest
  extends Pick<
    MethodInput,
    'nowMs' | 'budgets' | 'totals' | 'forecasts' | 'spotToSpot' | 'consolidation' | 'unseenPools' | 'claims'
  > {
  readonly method: string;
  readonly candidates: readonly string[];
  readonly gangs: ReadonlyMap<string, { readonly text: string; readonly providerIds: readonly string[] }>;
  readonly pools: readonly NumberedPool[];
}

/** A simulation without the data that the operator already has. */
type SerializedSimulation = Omit<Simulation, 'pools'>;

export type SerializedEvaluation = Omit<Evaluation, 'nodePool'> & { readonly nodePool: string };

/** Result of a disruption method, with provider ids instead of candidates and names instead of NodePools. */
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
  readonly emptiable: EmptiableRequest;
  readonly decide: DecideRequest;
  /** Requests a garbage collection. */
  readonly collect: undefined;
}

/** Results of a worker, by kind of request. */
export interface Results {
  readonly solve: Plan;
  /** Undefined if one of the removed nodes is already being deleted. */
  readonly simulate: SerializedSimulation | undefined;
  /** Provider ids. */
  readonly emptiable: readonly string[];
  readonly decide: SerializedMethodResult;
  /** Duration of the collection in milliseconds; undefined if the heap is too large for a collection. */
  readonly collect: number | undefined;
}

export type RequestKind = keyof Requests;

export type RequestMessage = {
  readonly [K in RequestKind]: { readonly kind: K; readonly job: number; readonly request: Requests[K] };
}[RequestKind];

export type ResponseMessage =
  | { readonly job: number; readonly result: Results[RequestKind] }
  | { readonly job: number; readonly error: string };
