/**
 * The laboratory in a thread of its own. Provisioning has another thread, so that pending pods never wait for a long
 * search.
 */
import type { Pod } from '../../api/kubernetes.ts';
import type { Evaluation } from '../../engine/disruption/balance.ts';
import type { Candidate } from '../../engine/disruption/candidates.ts';
import type { Deliberation, Findings, Method } from '../../engine/disruption/method.ts';
import type { Simulation, SimulationOptions } from '../../engine/disruption/simulation.ts';
import { realClock } from '../../kube/clock.ts';
import { type Reports, Supervision, Suspects } from '../engine-supervision.ts';
import { EngineDeath } from '../engine-watchdog.ts';
import type { NumberedPool } from '../enginemessages.ts';
import { EngineThread, type ThreadOptions, threadUrl } from '../enginethread.ts';
import type { Answer, EvaluationInWords, FindingsInWords, Message, Question } from './labmessages.ts';
import type { Gone, Laboratory, Scenery } from './laboratory.ts';
import { slimForExperiments } from './slim.ts';

const FORMS = { node: slimForExperiments, pendingPod: (pod: Pod): Pod => pod };

export interface LabThread extends Laboratory {
  /** Ends of the thread are logged and counted there. */
  reportTo(reports: Reports): void;
  /** @throws Error when its threads end again and again without an answer */
  check(): void;
  /** Ends the thread. Experiments under way fail. */
  close(): Promise<void>;
}

/** What an experiment, or all of a search, may take beyond its own end. */
const MARGIN_MS = 30_000;
/** The longest that a search goes on by itself, its last experiment included. */
const LONGEST_SEARCH_MS = 4 * 60_000;
/** For experiments without a deadline of their own. */
const DEADLINE_MS = 60_000;

/** The thread starts with the first experiment, never keeps the process alive by itself, and starts anew after it failed. */
export function labThread(options: ThreadOptions = {}): LabThread {
  const clock = options.clock ?? realClock();
  const supervision = new Supervision(clock, options.suspects ?? new Suspects(clock));
  let lab: Lab | undefined;

  async function running(): Promise<Lab> {
    if (lab === undefined || lab.thread.failed) await supervision.pause();
    if (lab === undefined || lab.thread.failed) lab = new Lab(options, supervision.suspects);
    return lab;
  }

  /** What the thread ends of fails, and so ends the round that asked: the next one does without the suspects. */
  async function supervised<T>({ snapshot }: Scenery, request: string, work: (lab: Lab) => Promise<T>): Promise<T> {
    let present: Lab | undefined;
    try {
      present = await running();
      const answer = await work(present);
      supervision.answered(request);
      return answer;
    } catch (error) {
      if (error instanceof EngineDeath && !present?.isReported) {
        if (present !== undefined) present.isReported = true;
        const pods = [...snapshot.pendingPods, ...snapshot.nodes.flatMap((node) => node.pods)];
        supervision.died(error, pods, request);
      }
      throw error;
    }
  }

  return {
    simulate: (scenery, gone, how) =>
      supervised(scenery, 'simulate', (present) => present.simulate(scenery, gone, how)),
    decide: (scenery, method, deliberation, signal) =>
      supervised(scenery, method.name, (present) => present.decide(scenery, method, deliberation, signal)),
    check: () => supervision.check(),
    reportTo: (reports) => supervision.reportTo(reports),
    close: async () => lab?.thread.close(),
  };
}

class Lab {
  readonly thread: EngineThread<Message, Answer>;
  /** What the thread makes its experiments on. */
  #shown: Scenery | undefined;
  /** Its end has been reported: several requests can fail of it. */
  isReported = false;
  readonly #suspects: Suspects;

  constructor(options: ThreadOptions, suspects: Suspects) {
    this.#suspects = suspects;
    this.thread = new EngineThread(
      threadUrl(import.meta.url, 'labworker', 'controllers/disruption'),
      'laboratory',
      options,
    );
  }

  async simulate(scenery: Scenery, gone: Gone, options: SimulationOptions): Promise<Simulation | undefined> {
    const answer = await this.thread.ask(
      async (job) => {
        await this.#show(scenery);
        return { kind: 'simulate', job, gone, options };
      },
      (scenery.solve.deadlineMs ?? DEADLINE_MS) + MARGIN_MS,
    );
    if (!('simulation' in answer)) throw new Error('The laboratory answered another question');
    return answer.simulation && { ...answer.simulation, pools: scenery.snapshot.pools };
  }

  async decide(scenery: Scenery, method: Method, deliberation: Deliberation, signal: AbortSignal): Promise<Findings> {
    signal.throwIfAborted();
    // a search cannot be interrupted from outside but with its thread
    const stop = (): void => void this.thread.close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const answer = await this.thread.ask(async (job) => {
        await this.#show(scenery);
        const pools = await this.thread.numbered([...deliberation.pools.values()]);
        return { kind: 'decide', job, question: questionOf(method, deliberation, pools) };
      }, LONGEST_SEARCH_MS + MARGIN_MS);
      if (!('findings' in answer)) throw new Error('The laboratory answered another question');
      return withObjects(answer.findings, deliberation);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async #show(scenery: Scenery): Promise<void> {
    if (this.#shown === scenery) return;
    const { snapshot, nodePools, solve } = scenery;
    const frame = await this.thread.show(snapshot, FORMS);
    const untouched = this.#suspects.among([...snapshot.pendingPods, ...snapshot.nodes.flatMap(({ pods }) => pods)]);
    this.thread.send({ kind: 'scene', backdrop: { frame, nodePools, solve, untouched } });
    this.#shown = scenery;
  }
}

function questionOf(method: Method, deliberation: Deliberation, pools: readonly NumberedPool[]): Question {
  const { nowMs, candidates, budgets, totals, spotToSpot, consolidation, unseenPools, claims } = deliberation;
  const ids = candidates.map(({ providerId }) => providerId);
  const how = { spotToSpot, consolidation, unseenPools };
  return { method: method.name, nowMs, candidates: ids, budgets, totals, pools, claims, ...how };
}

/** Findings with this thread's own candidates and NodePools. */
function withObjects(
  { commands, notes, evaluations, weighed, ...rest }: FindingsInWords,
  deliberation: Deliberation,
): Findings {
  const byId = new Map(deliberation.candidates.map((candidate) => [candidate.providerId, candidate]));
  const candidateOf = (id: string): Candidate => {
    const candidate = byId.get(id);
    if (candidate === undefined) throw new Error(`The laboratory answered about "${id}", which was not in question`);
    return candidate;
  };
  const poolOf = (name: string) => {
    const pool = deliberation.pools.get(name);
    if (pool === undefined) throw new Error(`The laboratory answered about NodePool "${name}", which is not known`);
    return pool.nodePool;
  };
  const evaluationOf = ({ nodePool, ...evaluation }: EvaluationInWords): Evaluation => ({
    ...evaluation,
    nodePool: poolOf(nodePool),
  });
  return {
    ...rest,
    commands: commands.map((command) => ({ ...command, candidates: command.candidates.map(candidateOf) })),
    notes: notes.map(({ candidate, nodePool, ...note }) => ({
      ...note,
      ...(candidate !== undefined && { candidate: candidateOf(candidate) }),
      ...(nodePool !== undefined && { nodePool: poolOf(nodePool) }),
    })),
    evaluations: evaluations.map(evaluationOf),
    ...(weighed && { weighed: weighed.map(evaluationOf) }),
  };
}
