/**
 * Runs the engine's solver in an engine worker, so that the operator can serve watches, leases and probes during a long solve.
 */
import type { Plan, PodRefusal, Snapshot, SolveOptions } from '../engine/model.ts';
import { podKey } from '../engine/pods.ts';
import { realClock } from '../lib/clock.ts';
import type { Returning } from '../process/memory-return.ts';
import { EngineWorker, type WorkerOptions } from './engine-worker.ts';
import type { SerializedSolveOptions } from './protocol.ts';
import type { Solver } from './solver.ts';
import { type Reports, Supervision, Suspects } from './supervision.ts';
import { EngineWorkerEnd } from './watchdog.ts';

/** Additional time for a solve beyond its deadline, in milliseconds, for the work before and after the placement of pods. */
const MARGIN_MS = 30_000;
/** Default deadline of a solve, in milliseconds. */
const DEADLINE_MS = 60_000;
/** Maximum number of workers for one solve. */
const TRIES = 3;
/** Only kind of request. */
const SOLVE = 'solve';

export interface WorkerSolver extends Returning {
  readonly solve: Solver;
  /** Terminates the worker. Solves in progress fail. */
  close(): Promise<void>;
}

/** Creates a solver. Its worker starts with the first solve, does not keep the process alive, and restarts after a failure. */
export function workerSolver(options: WorkerOptions = {}): WorkerSolver {
  const clock = options.clock ?? realClock();
  const supervision = new Supervision(clock, options.suspects ?? new Suspects(clock));
  let worker: EngineWorker | undefined;

  async function ask(snapshot: Snapshot, solveOptions: SerializedSolveOptions): Promise<Plan> {
    if (worker === undefined || worker.failed) worker = new EngineWorker('solver', options);
    const present = worker;
    // the solver does not use disruption budgets
    const needed = { ...snapshot, podDisruptionBudgets: [] };
    const plan = await present.ask(
      'solve',
      async () => ({ snapshot: await present.sendSnapshot(needed), options: solveOptions }),
      (solveOptions.deadlineMs ?? DEADLINE_MS) + MARGIN_MS,
    );
    supervision.answered(SOLVE);
    return plan;
  }

  async function solve(
    snapshot: Snapshot,
    { elapsedMs: _, working: __, ...solveOptions }: SolveOptions,
  ): Promise<Plan> {
    for (let left = TRIES - 1; ; left--) {
      const held = supervision.suspects.among(snapshot.pendingPods);
      try {
        return withRefusals(await ask(without(snapshot, held), solveOptions), held);
      } catch (error) {
        if (!(error instanceof EngineWorkerEnd)) throw error;
        supervision.died(error, snapshot.pendingPods, SOLVE);
        if (left <= 0) throw error;
        await supervision.pause();
      }
    }
  }

  return {
    solve: Object.assign(solve, {
      reportTo: (reports: Reports) => supervision.reportTo(reports),
      check: () => supervision.check(),
      holdOf: supervision.suspects.holdOf,
    }),
    get isIdle() {
      return worker?.isIdle ?? true;
    },
    giveBack: async () => worker?.giveBack(),
    close: async () => worker?.close(),
  };
}

const without = (snapshot: Snapshot, held: ReadonlyMap<string, string>): Snapshot =>
  held.size === 0
    ? snapshot
    : { ...snapshot, pendingPods: snapshot.pendingPods.filter((pod) => !held.has(podKey(pod))) };

function withRefusals(plan: Plan, held: ReadonlyMap<string, string>): Plan {
  if (held.size === 0) return plan;
  const refused = [...held].map(([key, text]): readonly [string, PodRefusal] => [key, { code: 'unsupported', text }]);
  return { ...plan, refusals: new Map([...plan.refusals, ...refused]) };
}
