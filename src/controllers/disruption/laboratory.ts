/** Where disruption's thought experiments are made: in this thread, or in one of their own (`labthread.ts`). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NodePool } from '../../api/nodepool.ts';
import { Experiments } from '../../engine/disruption/experiments.ts';
import type { Deliberation, Findings, Method } from '../../engine/disruption/method.ts';
import type { Simulation, SimulationOptions } from '../../engine/disruption/simulation.ts';
import type { Snapshot, SolveOptions } from '../../engine/model.ts';
import type { Reports } from '../engine-supervision.ts';

/** The cluster at a moment. */
export interface Scenery {
  /** Its pending pods are those that wait now. */
  readonly snapshot: Snapshot;
  /** All NodePools, those too that buy nothing for pods. */
  readonly nodePools: readonly NodePool[];
  readonly solve: Omit<SolveOptions, 'elapsedMs' | 'working'>;
}

/** Provider ids of the nodes to do without. */
export type Gone = readonly string[];

export interface Laboratory {
  simulate(scenery: Scenery, gone: Gone, options: SimulationOptions): Promise<Simulation | undefined>;
  /** What the method decides. Rejects when `signal` aborts. */
  decide(scenery: Scenery, method: Method, deliberation: Deliberation, signal: AbortSignal): Promise<Findings>;
  /** Told where to log and count what happens to it, if it is interested. */
  reportTo?(reports: Reports): void;
  /** @throws Error when it has no chance of answering any more in this process */
  check?(): void;
}

/** Experiments in this thread, one turn of the event loop for each. */
export function localLaboratory(): Laboratory {
  const known = new WeakMap<Scenery, Experiments>();

  function experimentsOn(scenery: Scenery): Experiments {
    let experiments = known.get(scenery);
    if (experiments === undefined) {
      const { snapshot, nodePools, solve } = scenery;
      experiments = new Experiments(snapshot, { nodePools, solve: { ...solve, elapsedMs: () => performance.now() } });
      known.set(scenery, experiments);
    }
    return experiments;
  }

  return {
    async simulate(scenery, gone, options) {
      await nextTurn();
      return experimentsOn(scenery).without(gone, options);
    },
    async decide(_, method, deliberation, signal) {
      const findings = await method.decide(deliberation);
      signal.throwIfAborted();
      return findings;
    },
  };
}
