/** Interface of disruption's simulations. They run in this thread or in an engine worker (`worker-simulation-runner.ts`). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Method,
  type MethodInput,
  type MethodResult,
  type Simulation,
  type SimulationOptions,
  Simulator,
  TriedSets,
} from '#engine/disruption';
import type { RankedNode } from '#engine/solve';
import type { SimulationInput } from '#planner';
import type { Reports } from './supervision.ts';

export interface SimulationRunner {
  /**
   * Simulates the removal of nodes, by provider id, and returns the resulting placement of pods. Returns undefined if one of the
   * nodes is already being deleted.
   */
  simulate(
    input: SimulationInput,
    without: readonly string[],
    options: SimulationOptions,
  ): Promise<Simulation | undefined>;
  /** Returns the nodes whose pods would find a place on the remaining nodes, worst first, by provider id. */
  emptiable(input: SimulationInput, worstFirst: readonly RankedNode[]): Promise<readonly string[]>;
  /** Runs a disruption method and returns its decision. Rejects if `signal` aborts. */
  decide(input: SimulationInput, method: Method, methodInput: MethodInput, signal: AbortSignal): Promise<MethodResult>;
  /** Sets the log and the metrics for reports about this runner. */
  reportTo?(reports: Reports): void;
  /** @throws Error if this runner cannot recover within this process */
  check?(): void;
}

export interface LocalSimulationOptions {
  /** Monotonic milliseconds, only for the deadline of a solve. Default: the machine's clock. */
  readonly now?: () => number;
}

/** Runs simulations in this thread, with one turn of the event loop for each simulation. */
export function localSimulationRunner({
  now = () => performance.now(),
}: LocalSimulationOptions = {}): SimulationRunner {
  const tried = new TriedSets();
  const known = new WeakMap<SimulationInput, Simulator>();

  function simulatorOn(input: SimulationInput): Simulator {
    let simulator = known.get(input);
    if (simulator === undefined) {
      const { snapshot, nodePools, solve } = input;
      simulator = new Simulator(snapshot, { nodePools, solve: { ...solve, elapsedMs: now } });
      known.set(input, simulator);
    }
    return simulator;
  }

  return {
    async simulate(input, without, options) {
      await nextTurn();
      return simulatorOn(input).without(without, options);
    },
    async emptiable(input, worstFirst) {
      await nextTurn();
      return simulatorOn(input).emptiable(worstFirst);
    },
    async decide(_, method, methodInput, signal) {
      const result = await method.decide({ tried, ...methodInput });
      signal.throwIfAborted();
      return result;
    },
  };
}
