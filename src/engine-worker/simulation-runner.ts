/** Where disruption's simulations run: in this thread, or in an engine worker (`worker-simulation-runner.ts`). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NodePool } from '../api/nodepool.ts';
import type { Method, MethodInput, MethodResult } from '../engine/disruption/method.ts';
import type { Simulation, SimulationOptions } from '../engine/disruption/simulations/simulation.ts';
import { Simulator } from '../engine/disruption/simulations/simulator.ts';
import { TriedSets } from '../engine/disruption/tried-sets.ts';
import type { Snapshot, SolveOptions } from '../engine/model.ts';
import type { Reports } from './supervision.ts';

/** The cluster at a moment, on which simulations run. */
export interface SimulationInput {
  /** Its pending pods are those that wait now. */
  readonly snapshot: Snapshot;
  /** All NodePools, those too that buy nothing for pods. */
  readonly nodePools: readonly NodePool[];
  readonly solve: Omit<SolveOptions, 'elapsedMs' | 'working'>;
}

export interface SimulationRunner {
  /**
   * What would happen to the pods if some nodes, by provider id, were gone. Undefined when one of them is being deleted
   * already.
   */
  simulate(
    input: SimulationInput,
    without: readonly string[],
    options: SimulationOptions,
  ): Promise<Simulation | undefined>;
  /** What the method decides. Rejects when `signal` aborts. */
  decide(input: SimulationInput, method: Method, methodInput: MethodInput, signal: AbortSignal): Promise<MethodResult>;
  /** Has it log and count there what happens to it. */
  reportTo?(reports: Reports): void;
  /** @throws Error when it has no chance of answering any more in this process */
  check?(): void;
}

export interface LocalSimulationOptions {
  /** Monotonic milliseconds, for the deadline of a solve alone. Default: the machine's. */
  readonly now?: () => number;
}

/** Simulations in this thread, one turn of the event loop for each. */
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
    async decide(_, method, methodInput, signal) {
      const result = await method.decide({ tried, ...methodInput });
      signal.throwIfAborted();
      return result;
    },
  };
}
