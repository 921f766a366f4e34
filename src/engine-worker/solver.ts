/** Runs the engine's solver for controllers. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Plan, Snapshot, SolveOptions } from '#engine/model';
import { solve } from '#engine/solve';
import type { HoldOf } from '#state';
import type { Reports } from './supervision.ts';

export interface Solver {
  (snapshot: Snapshot, options: SolveOptions): Promise<Plan>;
  /**
   * Prepares this solver for this snapshot, so that the first solve does not have to start a thread and copy the
   * cluster.
   */
  warmUp?(snapshot: Snapshot, options: SolveOptions): Promise<void>;
  /** Sets the log and the metrics for reports about this solver. */
  reportTo?(reports: Reports): void;
  /** @throws Error if this solver cannot recover within this process */
  check?(): void;
  /** Returns the current hold of a pod. Undefined if this solver never holds pods. */
  readonly holdOf?: HoldOf;
}

/** Solves in this thread, with one turn of the event loop for each solve. `now` is monotonic and only used for the deadline. */
export const localSolver =
  (now: () => number = () => performance.now()): Solver =>
  async (snapshot, options) => {
    await nextTurn();
    const startedMs = now();
    return solve(snapshot, { ...options, elapsedMs: () => now() - startedMs });
  };
