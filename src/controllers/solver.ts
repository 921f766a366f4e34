/** Runs the engine's solver for controllers. */

import type { Plan, Snapshot, SolveOptions } from '../engine/model.ts';
import { solve } from '../engine/solve.ts';

export type Solver = (snapshot: Snapshot, options: SolveOptions) => Promise<Plan>;

/** Solves in this process. `now` is a monotonic clock in milliseconds, for the deadline alone. */
export const localSolver =
  (now: () => number = () => performance.now()): Solver =>
  async (snapshot, options) => {
    const startedMs = now();
    return solve(snapshot, { ...options, elapsedMs: () => now() - startedMs });
  };
