/** Runs the engine's solver for controllers. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Plan, Snapshot, SolveOptions } from '../engine/model.ts';
import { solve } from '../engine/solve.ts';
import type { Settings } from '../process/settings.ts';
import type { HoldOf } from '../state/pod-holds.ts';
import type { Reports } from './supervision.ts';

export interface Solver {
  (snapshot: Snapshot, options: SolveOptions): Promise<Plan>;
  /** Told where to log and count what happens to it, if it is interested. */
  reportTo?(reports: Reports): void;
  /** @throws Error when it has no chance of answering any more in this process */
  check?(): void;
  /** Pods that it leaves out for a while, if it ever does. */
  readonly holdOf?: HoldOf;
}

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
  // a simulation asks whether ONE node can take the place of others: splitting it up to save money would say no
  packing: reservedMode === 'fallback' ? 'compatible' : settings.packing,
});
