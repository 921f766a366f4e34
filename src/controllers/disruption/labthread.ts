/**
 * The laboratory in a thread of its own. Provisioning has another thread, so that pending pods never wait for a long
 * search.
 */
import type { Pod } from '../../api/kubernetes.ts';
import type { Evaluation } from '../../engine/disruption/balance.ts';
import type { Candidate } from '../../engine/disruption/candidates.ts';
import type { Deliberation, Findings, Method } from '../../engine/disruption/method.ts';
import type { Simulation, SimulationOptions } from '../../engine/disruption/simulation.ts';
import type { NumberedPool } from '../enginemessages.ts';
import { EngineThread, threadUrl } from '../enginethread.ts';
import type { Answer, EvaluationInWords, FindingsInWords, Message, Question } from './labmessages.ts';
import type { Gone, Laboratory, Scenery } from './laboratory.ts';
import { slimForExperiments } from './slim.ts';

const FORMS = { node: slimForExperiments, pendingPod: (pod: Pod): Pod => pod };

export interface LabThread extends Laboratory {
  /** Ends the thread. Experiments under way fail. */
  close(): Promise<void>;
}

/** The thread starts with the first experiment, never keeps the process alive by itself, and starts anew after it failed. */
export function labThread(): LabThread {
  let lab: Lab | undefined;
  const running = (): Lab => {
    if (lab === undefined || lab.thread.failed) lab = new Lab();
    return lab;
  };
  return {
    simulate: (scenery, gone, options) => running().simulate(scenery, gone, options),
    decide: (scenery, method, deliberation, signal) => running().decide(scenery, method, deliberation, signal),
    close: async () => lab?.thread.close(),
  };
}

class Lab {
  readonly thread = new EngineThread<Message, Answer>(
    threadUrl(import.meta.url, 'labworker', 'controllers/disruption'),
    'laboratory',
  );
  /** What the thread makes its experiments on. */
  #shown: Scenery | undefined;

  async simulate(scenery: Scenery, gone: Gone, options: SimulationOptions): Promise<Simulation | undefined> {
    const answer = await this.thread.ask(async (job) => {
      await this.#show(scenery);
      return { kind: 'simulate', job, gone, options };
    });
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
      });
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
    this.thread.send({ kind: 'scene', backdrop: { frame, nodePools, solve } });
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
