/** Runs the engine's solver for controllers. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Plan, Snapshot, SolveOptions } from '../engine/model.ts';
import { solve } from '../engine/solve.ts';
import type { Settings } from '../observe/settings.ts';

export type Solver = (snapshot: Snapshot, options: SolveOptions) => Promise<Plan>;

/** Solves in this process, one turn of the event loop for each solve. `now` is monotonic, for the deadline alone. */
export const localSolver =
  (now: () => number = () => performance.now()): Solver =>
  async (snapshot, options) => {
    await nextTurn();
    const startedMs = now();
    return solve(snapshot, { ...options, elapsedMs: () => now() - startedMs });
  };

/** Options that come from the process settings. */
export const solveOptions = (settings: Settings, reservedMode: 'strict' | 'fallback'): SolveOptions => ({
  preferencePolicy: settings.preferencePolicy,
  minValuesPolicy: settings.minValuesPolicy,
  reservedMode: settings.featureGates.reservedCapacity ? reservedMode : 'off',
  ignoreDraRequests: settings.ignoreDraRequests,
  // an experiment asks whether ONE node can take the place of others: splitting it up to save money would say no
  packing: reservedMode === 'fallback' ? 'compatible' : settings.packing,
});
