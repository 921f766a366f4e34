/**
 * Runs the engine's solver in a thread, so that the operator goes on answering watches, leases and probes while a large
 * solve takes its time.
 */
import type { Plan, PodRefusal, Snapshot, SolveOptions } from '../engine/model.ts';
import { podKey } from '../engine/pods.ts';
import { realClock } from '../kube/clock.ts';
import { type Reports, Supervision, Suspects } from './engine-supervision.ts';
import { EngineDeath } from './engine-watchdog.ts';
import { EngineThread, type ThreadOptions, threadUrl } from './enginethread.ts';
import { slimNode, slimPod } from './slim.ts';
import type { Solver } from './solver.ts';
import type { SolveAnswer, SolveMessage } from './solvermessages.ts';

const FORMS = { node: slimNode, pendingPod: slimPod };

/** What a solve may take beyond its deadline, for what comes before and after the placing of pods. */
const MARGIN_MS = 30_000;
/** For a solve without a deadline of its own. */
const DEADLINE_MS = 60_000;
/** Threads that one solve may use up. */
const TRIES = 3;
/** The only kind of request. */
const SOLVE = 'solve';

export interface ThreadSolver {
  readonly solve: Solver;
  /** Ends the thread. Solves under way fail. */
  close(): Promise<void>;
}

/** The thread starts with the first solve, never keeps the process alive by itself, and starts anew after it failed. */
export function threadSolver(options: ThreadOptions = {}): ThreadSolver {
  const clock = options.clock ?? realClock();
  const supervision = new Supervision(clock, options.suspects ?? new Suspects(clock));
  let thread: EngineThread<SolveMessage, SolveAnswer> | undefined;

  function running(): EngineThread<SolveMessage, SolveAnswer> {
    if (thread === undefined || thread.failed)
      thread = new EngineThread(threadUrl(import.meta.url, 'solverworker', 'controllers'), 'solver', options);
    return thread;
  }

  async function ask(snapshot: Snapshot, solveOptions: SolveMessage['options']): Promise<Plan> {
    const present = running();
    // solving looks at no disruption budgets
    const shown = { ...snapshot, podDisruptionBudgets: [] };
    const answer = await present.ask(
      async (job) => ({ kind: 'solve', job, frame: await present.show(shown, FORMS), options: solveOptions }),
      (solveOptions.deadlineMs ?? DEADLINE_MS) + MARGIN_MS,
    );
    supervision.answered(SOLVE);
    return answer.plan;
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
        if (!(error instanceof EngineDeath)) throw error;
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
    close: async () => thread?.close(),
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
