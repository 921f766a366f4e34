/**
 * Runs disruption's simulations in an engine worker. Provisioning has a separate worker, so that pending pods never wait for a
 * long search.
 */
import type { Method, MethodInput, MethodResult } from '../engine/disruption/method.ts';
import type { Simulation, SimulationOptions } from '../engine/disruption/simulations/simulation.ts';
import { realClock } from '../lib/clock.ts';
import type { Returning } from '../process/memory-return.ts';
import { EngineWorker, type WorkerOptions } from './engine-worker.ts';
import { decideRequest, deserializedResult } from './serialized-results.ts';
import type { SimulationInput, SimulationRunner } from './simulation-runner.ts';
import { type Reports, Supervision, Suspects } from './supervision.ts';
import { EngineWorkerEnd } from './watchdog.ts';

export interface WorkerSimulationRunner extends SimulationRunner, Returning {
  /** Sets the log and the metrics for ends of the worker. */
  reportTo(reports: Reports): void;
  /** @throws Error if the workers end repeatedly without a response */
  check(): void;
  /** Terminates the worker. Simulations in progress fail. */
  close(): Promise<void>;
}

/** Additional time for a simulation or a search beyond its own time limit, in milliseconds. */
const MARGIN_MS = 30_000;
/** Maximum duration of a search, including its last simulation, in milliseconds. */
const LONGEST_SEARCH_MS = 4 * 60_000;
/** Default deadline of a simulation, in milliseconds. */
const DEADLINE_MS = 60_000;

/** Creates a runner. Its worker starts with the first request, does not keep the process alive, and restarts after a failure. */
export function workerSimulationRunner(options: WorkerOptions = {}): WorkerSimulationRunner {
  const clock = options.clock ?? realClock();
  const supervision = new Supervision(clock, options.suspects ?? new Suspects(clock));
  let latest: SimulationWorker | undefined;

  async function running(): Promise<SimulationWorker> {
    if (latest === undefined || latest.worker.failed) await supervision.pause();
    if (latest === undefined || latest.worker.failed) latest = new SimulationWorker(options, supervision.suspects);
    return latest;
  }

  /** Runs a request. If the worker ends, the request and its disruption round fail, and the next round excludes the suspects. */
  async function supervised<T>(
    { snapshot }: SimulationInput,
    request: string,
    work: (worker: SimulationWorker) => Promise<T>,
  ): Promise<T> {
    let present: SimulationWorker | undefined;
    try {
      present = await running();
      const answer = await work(present);
      supervision.answered(request);
      return answer;
    } catch (error) {
      if (error instanceof EngineWorkerEnd && !present?.isReported) {
        if (present !== undefined) present.isReported = true;
        const pods = [...snapshot.pendingPods, ...snapshot.nodes.flatMap((node) => node.pods)];
        supervision.died(error, pods, request);
      }
      throw error;
    }
  }

  return {
    simulate: (input, without, how) =>
      supervised(input, 'simulate', (present) => present.simulate(input, without, how)),
    decide: (input, method, methodInput, signal) =>
      supervised(input, method.name, (present) => present.decide(input, method, methodInput, signal)),
    check: () => supervision.check(),
    reportTo: (reports) => supervision.reportTo(reports),
    get isIdle() {
      return latest?.worker.isIdle ?? true;
    },
    giveBack: async () => latest?.worker.giveBack(),
    close: async () => latest?.worker.close(),
  };
}

class SimulationWorker {
  readonly worker: EngineWorker;
  /** Cluster that the worker currently simulates on. */
  #sent: SimulationInput | undefined;
  /** True after the end of the worker was reported, because several requests can fail with the same end. */
  isReported = false;
  readonly #suspects: Suspects;

  constructor(options: WorkerOptions, suspects: Suspects) {
    this.#suspects = suspects;
    this.worker = new EngineWorker('disruption', options);
  }

  async simulate(
    input: SimulationInput,
    without: readonly string[],
    options: SimulationOptions,
  ): Promise<Simulation | undefined> {
    const found = await this.worker.ask(
      'simulate',
      async () => {
        await this.#send(input);
        return { without, options };
      },
      (input.solve.deadlineMs ?? DEADLINE_MS) + MARGIN_MS,
    );
    return found && { ...found, pools: input.snapshot.pools };
  }

  async decide(
    input: SimulationInput,
    method: Method,
    methodInput: MethodInput,
    signal: AbortSignal,
  ): Promise<MethodResult> {
    signal.throwIfAborted();
    // only the end of the worker can interrupt a search from outside
    const stop = (): void => void this.worker.close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const result = await this.worker.ask(
        'decide',
        async () => {
          await this.#send(input);
          return decideRequest(method, methodInput, await this.worker.sendTypes([...methodInput.pools.values()]));
        },
        LONGEST_SEARCH_MS + MARGIN_MS,
      );
      return deserializedResult(result, methodInput);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async #send(input: SimulationInput): Promise<void> {
    if (this.#sent === input) return;
    const { snapshot, nodePools, solve } = input;
    const serialized = await this.worker.sendSnapshot(snapshot);
    const untouched = this.#suspects.among([...snapshot.pendingPods, ...snapshot.nodes.flatMap(({ pods }) => pods)]);
    this.worker.send({ kind: 'simulation-input', input: { snapshot: serialized, nodePools, solve, untouched } });
    this.#sent = input;
  }
}
