/**
 * Runs disruption's simulations in an engine worker. Provisioning has a separate worker, so that pending pods never wait for a
 * long search. If the worker ends, the request and its disruption round fail, and the next round excludes the suspects.
 */
import type { Pod } from '#api/objects';
import type { Method, MethodInput, MethodResult, Simulation, SimulationOptions } from '#engine/disruption';
import type { RankedNode } from '#engine/solve';
import { remembering } from '#lib';
import type { SimulationInput } from '#planner';
import { type EngineWorker, SupervisedWorker, type WorkerOptions } from './engine-worker.ts';
import { decideRequest, deserializedResult } from './serialized-results.ts';
import type { SimulationRunner } from './simulation-runner.ts';

/** Additional time for a simulation or a search beyond its own time limit, in milliseconds. */
const MARGIN_MS = 30_000;
/** Maximum duration of a search, including its last simulation, in milliseconds. */
const LONGEST_SEARCH_MS = 4 * 60_000;
/** Default deadline of a simulation, in milliseconds. */
const DEADLINE_MS = 60_000;

export class WorkerSimulationRunner extends SupervisedWorker implements SimulationRunner {
  /** Cluster that each worker currently simulates on. */
  readonly #sent = new WeakMap<EngineWorker, SimulationInput>();

  constructor(options: WorkerOptions = {}) {
    super('disruption', options);
  }

  async simulate(
    input: SimulationInput,
    without: readonly string[],
    options: SimulationOptions,
  ): Promise<Simulation | undefined> {
    const prepare = async (worker: EngineWorker) => {
      await this.#send(worker, input);
      return { without, options };
    };
    const mostMs = (input.solve.deadlineMs ?? DEADLINE_MS) + MARGIN_MS;
    const found = await this.run('simulate', podsOf(input), (worker) =>
      worker.ask('simulate', () => prepare(worker), mostMs),
    );
    return found && { ...found, pools: input.snapshot.pools };
  }

  async emptiable(input: SimulationInput, worstFirst: readonly RankedNode[]): Promise<readonly string[]> {
    const prepare = async (worker: EngineWorker) => {
      await this.#send(worker, input);
      return { worstFirst };
    };
    const mostMs = (input.solve.deadlineMs ?? DEADLINE_MS) + MARGIN_MS;
    return this.run('emptiable', podsOf(input), (worker) => worker.ask('emptiable', () => prepare(worker), mostMs));
  }

  decide(input: SimulationInput, method: Method, methodInput: MethodInput, signal: AbortSignal): Promise<MethodResult> {
    return this.run(method.name, podsOf(input), async (worker) => {
      signal.throwIfAborted();
      // only the end of the worker can interrupt a search from outside
      const stop = (): void => void worker.close();
      signal.addEventListener('abort', stop, { once: true });
      const prepare = async () => {
        await this.#send(worker, input);
        return decideRequest(method, methodInput, await worker.sendTypes([...methodInput.pools.values()]));
      };
      try {
        return deserializedResult(await worker.ask('decide', prepare, LONGEST_SEARCH_MS + MARGIN_MS), methodInput);
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', stop);
      }
    });
  }

  async #send(worker: EngineWorker, input: SimulationInput): Promise<void> {
    if (this.#sent.get(worker) === input) return;
    const { snapshot, nodePools, solve } = input;
    const serialized = await worker.sendSnapshot(snapshot);
    const untouched = this.suspects.among(podsOf(input));
    worker.send({ kind: 'simulation-input', input: { snapshot: serialized, nodePools, solve, untouched } });
    this.#sent.set(worker, input);
  }
}

const podsOf = remembering(({ snapshot }: SimulationInput): readonly Pod[] => [
  ...snapshot.pendingPods,
  ...snapshot.nodes.flatMap(({ pods }) => pods),
]);
