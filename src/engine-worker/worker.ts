/** Program of an engine worker's thread. It keeps a copy of the cluster and processes requests about it. */
import { parentPort, workerData } from 'node:worker_threads';
import {
  type Candidate,
  committedUse,
  described,
  type MethodInput,
  methodsOf,
  simulateOn,
  TriedSets,
} from '#engine/disruption';
import type { StateNode } from '#engine/model';
import { solve } from '#engine/solve';
import { logWarnings } from '#process/life';
import { collectFully, countGc } from '#process/memory';
import { boardWriter } from './progress-board.ts';
import type {
  DecideRequest,
  EmptiableRequest,
  RequestKind,
  RequestMessage,
  Requests,
  ResponseMessage,
  Results,
  SimulateRequest,
  SolveRequest,
  StateMessage,
  WorkerData,
} from './protocol.ts';
import { serializedResult } from './serialized-results.ts';
import { WorkerState } from './worker-state.ts';

// Node.js forwards the console of a thread to the streams of the process, and the log reads these streams
logWarnings((text) => console.error(text));
const { name, board: sharedBoard } = workerData as WorkerData;
/** Publishes the pod that this thread works on to threads that monitor it. */
const board = boardWriter(sharedBoard);

const state = new WorkerState(board.working);
const tried = new TriedSets();

function runSolve({ snapshot, options }: SolveRequest): Results['solve'] {
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  return solve(state.snapshot(snapshot), { ...options, elapsedMs, working: board.working });
}

function runSimulation({ without, options }: SimulateRequest): Results['simulate'] {
  const found = state.simulated.simulator.without(without, options);
  if (found === undefined) return undefined;
  const { pools: _, ...simulation } = found;
  return simulation;
}

const emptiable = ({ worstFirst }: EmptiableRequest): Results['emptiable'] =>
  state.simulated.simulator.emptiable(worstFirst);

async function runDecision(request: DecideRequest): Promise<Results['decide']> {
  const { snapshot, simulator } = state.simulated;
  const method = methodsOf(request.consolidation).find(({ name }) => name === request.method);
  if (method === undefined) throw new Error(`Cannot decide: unknown disruption method "${request.method}"`);
  const pools = new Map(state.withTypes(request.pools).map((pool) => [pool.nodePool.metadata.name, pool]));
  const wanted = new Set([...request.candidates, ...request.gangs.keys()]);
  // methods read only the fields that an EngineNode has
  const byId = new Map(
    (snapshot.nodes as readonly StateNode[])
      .filter(({ providerId }) => wanted.has(providerId))
      .flatMap((node) => described(node, pools) ?? [])
      .map((candidate) => [candidate.providerId, candidate]),
  );
  const candidatesOf = (ids: readonly string[]): readonly Candidate[] => ids.flatMap((id) => byId.get(id) ?? []);
  const gangs = new Map(
    [...request.gangs].map(([id, { text, providerIds }]) => [id, { text, candidates: candidatesOf(providerIds) }]),
  );
  const startedMs = performance.now();
  const input: MethodInput = {
    ...request,
    candidates: candidatesOf(request.candidates),
    gangs,
    pools,
    committed: committedUse(snapshot, [...pools.values()], request.consolidation),
    simulate: simulateOn(simulator),
    tried,
    elapsedMs: () => performance.now() - startedMs,
    refresh: async () => input,
  };
  return serializedResult(await method.decide(input));
}

type Handlers = { readonly [K in RequestKind]: (request: Requests[K]) => Results[K] | Promise<Results[K]> };
const HANDLERS: Handlers = {
  solve: runSolve,
  simulate: runSimulation,
  emptiable,
  decide: runDecision,
  collect: () => collectFully(),
};

function resultOf<K extends RequestKind>(kind: K, request: Requests[K]): Results[K] | Promise<Results[K]> {
  return HANDLERS[kind](request);
}

const respond = (message: ResponseMessage): void => parentPort?.postMessage(message);

async function answer({ kind, job, request }: RequestMessage): Promise<void> {
  try {
    respond({ job, result: await resultOf(kind, request) });
  } catch (error) {
    respond({ job, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  } finally {
    board.idle();
  }
}

countGc(name);
parentPort?.on('message', (message: StateMessage | RequestMessage) => {
  if ('request' in message) void answer(message);
  else state.receive(message);
});
