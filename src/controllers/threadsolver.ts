/**
 * Runs the engine's solver in a thread, so that the operator goes on answering watches, leases and probes while a large
 * solve takes its time.
 */
import type { Snapshot, SolveOptions } from '../engine/model.ts';
import { EngineThread, threadUrl } from './enginethread.ts';
import { slimNode, slimPod } from './slim.ts';
import type { Solver } from './solver.ts';
import type { SolveAnswer, SolveMessage } from './solvermessages.ts';

const FORMS = { node: slimNode, pendingPod: slimPod };

export interface ThreadSolver {
  readonly solve: Solver;
  /** Ends the thread. Solves under way fail. */
  close(): Promise<void>;
}

/** The thread starts with the first solve, never keeps the process alive by itself, and starts anew after it failed. */
export function threadSolver(): ThreadSolver {
  let thread: EngineThread<SolveMessage, SolveAnswer> | undefined;

  async function solve(snapshot: Snapshot, { elapsedMs: _, ...options }: SolveOptions): Promise<SolveAnswer['plan']> {
    if (thread === undefined || thread.failed)
      thread = new EngineThread(threadUrl(import.meta.url, 'solverworker', 'controllers'), 'solver');
    const present = thread;
    // solving looks at no disruption budgets
    const shown = { ...snapshot, podDisruptionBudgets: [] };
    const answer = await present.ask(async (job) => ({
      kind: 'solve',
      job,
      frame: await present.show(shown, FORMS),
      options,
    }));
    return answer.plan;
  }
  return { solve, close: async () => thread?.close() };
}
