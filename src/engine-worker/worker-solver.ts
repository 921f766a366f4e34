/**
 * Runs the engine's solver in an engine worker, so that the operator can serve watches, leases and probes during a long solve.
 */
import type { Plan, PodRefusal, Snapshot, SolveOptions } from '../engine/model.ts';
import { podKey } from '../engine/pods.ts';
import { SupervisedWorker, type WorkerOptions } from './engine-worker.ts';
import type { SerializedSolveOptions } from './protocol.ts';
import type { Solver } from './solver.ts';
import type { Reports } from './supervision.ts';
import { EngineWorkerEnd } from './watchdog.ts';

/** Additional time for a solve beyond its deadline, in milliseconds, for the work before and after the placement of pods. */
const MARGIN_MS = 30_000;
/** Default deadline of a solve, in milliseconds. */
const DEADLINE_MS = 60_000;
/** Maximum number of workers for one solve. */
const TRIES = 3;

const NO_PODS: ReadonlyMap<string, string> = new Map();

/** Solver whose worker restarts after a failure. A solve is repeated without the pods that may have ended its worker. */
export class WorkerSolver extends SupervisedWorker {
  readonly solve: Solver = Object.assign(this.#solve.bind(this), {
    warmUp: async (snapshot: Snapshot, { elapsedMs: _, working: __, ...options }: SolveOptions) => {
      // if the worker ends, the first solve starts another worker and reports the cause
      await this.#ask({ ...snapshot, pendingPods: [] }, NO_PODS, options).catch(() => undefined);
    },
    reportTo: (reports: Reports) => this.reportTo(reports),
    check: () => this.check(),
    holdOf: this.suspects.holdOf,
  });

  constructor(options: WorkerOptions = {}) {
    super('solver', options);
  }

  async #solve(snapshot: Snapshot, { elapsedMs: _, working: __, ...options }: SolveOptions): Promise<Plan> {
    for (let left = TRIES - 1; ; left--) {
      const held = this.suspects.among(snapshot.pendingPods);
      try {
        return withRefusals(await this.#ask(snapshot, held, options), held);
      } catch (error) {
        if (!(error instanceof EngineWorkerEnd) || left <= 0) throw error;
      }
    }
  }

  #ask(snapshot: Snapshot, held: ReadonlyMap<string, string>, options: SerializedSolveOptions): Promise<Plan> {
    // this solver does not use disruption budgets
    const needed = { ...without(snapshot, held), podDisruptionBudgets: [] };
    const mostMs = (options.deadlineMs ?? DEADLINE_MS) + MARGIN_MS;
    return this.run('solve', snapshot.pendingPods, (worker) =>
      worker.ask('solve', async () => ({ snapshot: await worker.sendSnapshot(needed), options }), mostMs),
    );
  }
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
