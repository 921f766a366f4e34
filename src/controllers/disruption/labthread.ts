/**
 * The laboratory in a thread of its own, which holds a copy of the cluster: what changed since the last experiment goes
 * over in small parts, because copying blocks as well. Provisioning has another thread, so that pending pods never wait
 * for a long search.
 */
import { Worker } from 'node:worker_threads';
import type { Candidate } from '../../engine/disruption/candidates.ts';
import type { Deliberation, Findings, Method } from '../../engine/disruption/method.ts';
import type { Simulation, SimulationOptions } from '../../engine/disruption/simulation.ts';
import type { InstanceType, PoolInput } from '../../engine/model.ts';
import { type CopiedList, Copies } from '../copies.ts';
import { inTurns } from '../turns.ts';
import type { Answer, Backdrop, FindingsInWords, ListName, Message, NumberedPool, Question } from './labmessages.ts';
import type { Gone, Laboratory, Scenery } from './laboratory.ts';
import { slimForExperiments } from './slim.ts';

/** Lists of instance types that the thread keeps. A new list comes with every change of prices or offerings. */
const MAX_TYPE_LISTS = 32;
const ENDED = 'The thread of the laboratory ended';

/** The bundle has the thread's code beside the entry points. */
const threadUrl = (): URL => {
  const isSource = import.meta.url.endsWith('.ts');
  return new URL(isSource ? './labworker.ts' : './controllers/disruption/labworker.js', import.meta.url);
};

interface Job {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export interface LabThread extends Laboratory {
  /** Ends the thread. Experiments under way fail. */
  close(): Promise<void>;
}

/** The thread starts with the first experiment, never keeps the process alive by itself, and starts anew after it failed. */
export function labThread(): LabThread {
  let thread: Thread | undefined;
  const running = (): Thread => {
    if (thread === undefined || thread.failed) thread = new Thread();
    return thread;
  };
  return {
    simulate: (scenery, gone, options) => running().simulate(scenery, gone, options),
    decide: (scenery, method, deliberation, signal) => running().decide(scenery, method, deliberation, signal),
    close: async () => thread?.close(),
  };
}

class Thread {
  failed = false;
  readonly #worker = new Worker(threadUrl());
  readonly #jobs = new Map<number, Job>();
  readonly #copies = new Copies((message) => this.#send(message));
  /** Numbers of the lists of instance types that the thread has, the least recently used first. */
  readonly #typeLists = new Map<readonly InstanceType[], number>();
  #shown: Scenery | undefined;
  #lastId = 0;
  /** What is being sent, after which the next may be. */
  #sending: Promise<unknown> = Promise.resolve();

  constructor() {
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#settle(answer));
    this.#worker.on('error', (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
    this.#worker.on('exit', () => this.#fail(new Error(ENDED)));
  }

  async simulate(scenery: Scenery, gone: Gone, options: SimulationOptions): Promise<Simulation | undefined> {
    const answer = await this.#ask(scenery, async (job) => this.#send({ kind: 'simulate', job, gone, options }));
    if (!('simulation' in answer)) throw new Error('The laboratory answered another question');
    return answer.simulation && { ...answer.simulation, pools: scenery.snapshot.pools };
  }

  async decide(scenery: Scenery, method: Method, deliberation: Deliberation, signal: AbortSignal): Promise<Findings> {
    signal.throwIfAborted();
    // a search cannot be interrupted from outside but with its thread
    const stop = (): void => void this.close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const answer = await this.#ask(scenery, async (job) => {
        const pools = await this.#numbered([...deliberation.pools.values()]);
        this.#send({ kind: 'decide', job, question: questionOf(method, deliberation, pools) });
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

  async close(): Promise<void> {
    this.#fail(new Error(ENDED));
    await this.#worker.terminate();
  }

  /** Shows the scenery and asks, without another question in between. */
  async #ask(scenery: Scenery, ask: (job: number) => Promise<void>): Promise<Answer> {
    const job = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const sent = this.#sending.then(async () => {
      if (this.#shown !== scenery) await this.#shownInFull(scenery);
      if (this.failed) throw new Error(ENDED);
      this.#jobs.set(job, { resolve, reject });
      this.#worker.ref();
      await ask(job);
    });
    this.#sending = sent.catch(() => undefined);
    await sent;
    return promise;
  }

  /** What has gone over only in part is of no use: after an error the next thread gets all of it. */
  async #shownInFull(scenery: Scenery): Promise<void> {
    try {
      await this.#show(scenery);
      this.#shown = scenery;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #show(scenery: Scenery): Promise<void> {
    const { snapshot, nodePools, solve } = scenery;
    const {
      pools,
      nodes,
      pendingPods,
      daemonPods,
      namespaces,
      podDisruptionBudgets,
      persistentVolumeClaims,
      persistentVolumes,
      storageClasses,
      ...rest
    } = snapshot;
    const lists: readonly CopiedList<object>[] = [
      { name: 'pendingPods', items: pendingPods },
      { name: 'daemonPods', items: daemonPods },
      { name: 'namespaces', items: namespaces },
      { name: 'podDisruptionBudgets', items: podDisruptionBudgets },
      { name: 'persistentVolumeClaims', items: persistentVolumeClaims },
      { name: 'persistentVolumes', items: persistentVolumes },
      { name: 'storageClasses', items: storageClasses },
    ] satisfies readonly (CopiedList<object> & { readonly name: ListName })[];
    await this.#copies.show({
      name: 'nodes' satisfies ListName,
      items: nodes,
      weightOf: ({ pods }) => 1 + pods.length,
      formOf: slimForExperiments,
    });
    for (const list of lists) await this.#copies.show(list);
    const backdrop: Backdrop = { rest, pools: await this.#numbered(pools), nodePools, solve };
    this.#send({ kind: 'scene', backdrop });
  }

  async #numbered(pools: readonly PoolInput[]): Promise<readonly NumberedPool[]> {
    const pause = inTurns();
    const numbered: NumberedPool[] = [];
    for (const { nodePool, instanceTypes } of pools) {
      numbered.push({ nodePool, types: this.#numberOf(instanceTypes) });
      await pause();
    }
    return numbered;
  }

  #numberOf(types: readonly InstanceType[]): number {
    let id = this.#typeLists.get(types);
    if (id === undefined) {
      id = ++this.#lastId;
      this.#send({ kind: 'types', id, types });
    }
    this.#typeLists.delete(types);
    this.#typeLists.set(types, id);
    const [[oldest, oldestId] = []] = this.#typeLists;
    if (this.#typeLists.size > MAX_TYPE_LISTS && oldest !== undefined && oldestId !== undefined) {
      this.#typeLists.delete(oldest);
      this.#send({ kind: 'forget', id: oldestId });
    }
    return id;
  }

  #send(message: Message): void {
    this.#worker.postMessage(message);
  }

  #settle(answer: Answer): void {
    const job = this.#jobs.get(answer.job);
    this.#jobs.delete(answer.job);
    if (this.#jobs.size === 0) this.#worker.unref();
    if ('error' in answer) job?.reject(new Error(answer.error));
    else job?.resolve(answer);
  }

  #fail(error: Error): void {
    this.failed = true;
    for (const { reject } of this.#jobs.values()) reject(error);
    this.#jobs.clear();
  }
}

function questionOf(method: Method, deliberation: Deliberation, pools: readonly NumberedPool[]): Question {
  const { nowMs, candidates, budgets, totals, spotToSpot, consolidation, unseenPools, claims } = deliberation;
  const ids = candidates.map(({ providerId }) => providerId);
  const how = { spotToSpot, consolidation, unseenPools };
  return { method: method.name, nowMs, candidates: ids, budgets, totals, pools, claims, ...how };
}

/** Findings with this thread's own candidates and NodePools. */
function withObjects({ commands, notes, evaluations, ...rest }: FindingsInWords, deliberation: Deliberation): Findings {
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
  return {
    ...rest,
    commands: commands.map((command) => ({ ...command, candidates: command.candidates.map(candidateOf) })),
    notes: notes.map(({ candidate, nodePool, ...note }) => ({
      ...note,
      ...(candidate !== undefined && { candidate: candidateOf(candidate) }),
      ...(nodePool !== undefined && { nodePool: poolOf(nodePool) }),
    })),
    evaluations: evaluations.map(({ nodePool, ...evaluation }) => ({ ...evaluation, nodePool: poolOf(nodePool) })),
  };
}
