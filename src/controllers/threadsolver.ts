/**
 * Runs the engine's solver in a thread, so that the operator goes on answering watches, leases and probes while a large
 * solve takes its time. The thread keeps a copy of the cluster: what changed since the last solve goes over, in small
 * parts, because copying blocks as well.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { InstanceType, Plan, Snapshot, SolveOptions } from '../engine/model.ts';
import { Copies } from './copies.ts';
import { slimNode, slimPod } from './slim.ts';
import type { Solver } from './solver.ts';
import type { Answer, Message, SolveRequest } from './solvermessages.ts';

/** Lists of instance types that the thread keeps. A new list comes with every change of prices or offerings. */
const MAX_TYPE_SETS = 32;

/** The bundle has the thread's code beside the entry points. */
const threadUrl = (): URL => {
  const isSource = import.meta.url.endsWith('.ts');
  return new URL(isSource ? './solverworker.ts' : './controllers/solverworker.js', import.meta.url);
};

interface Job {
  readonly resolve: (plan: Plan) => void;
  readonly reject: (error: Error) => void;
}

export interface ThreadSolver {
  readonly solve: Solver;
  /** Ends the thread. Solves under way fail. */
  close(): Promise<void>;
}

/** The thread starts with the first solve, never keeps the process alive by itself, and starts anew after it failed. */
export function threadSolver(): ThreadSolver {
  let thread: Thread | undefined;
  return {
    solve: (snapshot, options) => {
      if (thread === undefined || thread.failed) thread = new Thread();
      return thread.solve(snapshot, options);
    },
    close: async () => thread?.close(),
  };
}

class Thread {
  failed = false;
  readonly #worker = new Worker(threadUrl());
  readonly #jobs = new Map<number, Job>();
  /** Ids of the lists that the thread has, the least recently used first. */
  readonly #typeSets = new Map<readonly InstanceType[], number>();
  readonly #copies = new Copies((message) => this.#send(message));
  /** What is being sent, after which the next may be. */
  #sending: Promise<unknown> = Promise.resolve();
  #lastId = 0;

  constructor() {
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#settle(answer));
    this.#worker.on('error', (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
    this.#worker.on('exit', () => this.#fail(new Error('The thread of the solver ended')));
  }

  /** Solves go over one after the other, because each changes what the thread holds. */
  async solve(snapshot: Snapshot, { elapsedMs: _, ...options }: SolveOptions): Promise<Plan> {
    const job = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Plan>();
    const sent = this.#sending.then(async () => {
      const parts = await this.#show(snapshot);
      if (this.failed) throw new Error('The thread of the solver ended');
      this.#jobs.set(job, { resolve, reject });
      this.#worker.ref();
      this.#send({ kind: 'solve', job, ...parts, options });
    });
    this.#sending = sent.catch(() => undefined);
    await sent;
    return promise;
  }

  /** Has the thread hold the lists of a snapshot; answers the rest of it. */
  async #show(snapshot: Snapshot): Promise<Pick<SolveRequest, 'rest' | 'pools'>> {
    const {
      pools,
      nodes,
      pendingPods,
      daemonPods,
      namespaces,
      persistentVolumeClaims,
      persistentVolumes,
      storageClasses,
      ...rest
    } = snapshot;
    const copies = this.#copies;
    await copies.show({ name: 'nodes', items: nodes, weightOf: ({ pods }) => 1 + pods.length, formOf: slimNode });
    await copies.show({ name: 'pendingPods', items: pendingPods, formOf: slimPod });
    await copies.show({ name: 'daemonPods', items: daemonPods });
    await copies.show({ name: 'namespaces', items: namespaces });
    await copies.show({ name: 'persistentVolumeClaims', items: persistentVolumeClaims });
    await copies.show({ name: 'persistentVolumes', items: persistentVolumes });
    await copies.show({ name: 'storageClasses', items: storageClasses });
    const numbered: { nodePool: (typeof pools)[number]['nodePool']; types: number }[] = [];
    for (const { nodePool, instanceTypes } of pools)
      numbered.push({ nodePool, types: await this.#idOf(instanceTypes) });
    return { rest: { ...rest, podDisruptionBudgets: [] }, pools: numbered };
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #send(message: Message): void {
    this.#worker.postMessage(message);
  }

  async #idOf(types: readonly InstanceType[]): Promise<number> {
    let id = this.#typeSets.get(types);
    if (id === undefined) {
      id = ++this.#lastId;
      this.#send({ kind: 'types', id, types });
      await nextTurn();
    }
    this.#typeSets.delete(types);
    this.#typeSets.set(types, id);
    const [[oldest, oldestId] = []] = this.#typeSets;
    if (this.#typeSets.size > MAX_TYPE_SETS && oldest !== undefined && oldestId !== undefined) {
      this.#typeSets.delete(oldest);
      this.#send({ kind: 'forget', id: oldestId });
    }
    return id;
  }

  #settle(answer: Answer): void {
    const job = this.#jobs.get(answer.job);
    this.#jobs.delete(answer.job);
    if (this.#jobs.size === 0) this.#worker.unref();
    if ('plan' in answer) job?.resolve(answer.plan);
    else job?.reject(new Error(answer.error));
  }

  #fail(error: Error): void {
    this.failed = true;
    for (const { reject } of this.#jobs.values()) reject(error);
    this.#jobs.clear();
  }
}
