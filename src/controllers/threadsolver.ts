/**
 * Runs the engine's solver in a thread, so that the operator goes on answering watches, leases and probes while a large
 * solve takes its time. A snapshot is copied over in small parts, because copying blocks as well.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { InstanceType, Plan, Snapshot, SolveOptions } from '../engine/model.ts';
import type { Solver } from './solver.ts';
import type { Answer, Part } from './solvermessages.ts';

/** Pods, or nodes with their pods, copied in one turn of the event loop: a few milliseconds' worth. */
const PODS_PER_TURN = 250;
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
  #lastId = 0;

  constructor() {
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#settle(answer));
    this.#worker.on('error', (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
    this.#worker.on('exit', () => this.#fail(new Error('The thread of the solver ended')));
  }

  async solve(snapshot: Snapshot, { elapsedMs: _, ...options }: SolveOptions): Promise<Plan> {
    const job = ++this.#lastId;
    const { pools, nodes, pendingPods, ...rest } = snapshot;
    await this.#inParts(
      pendingPods,
      () => 1,
      (pods) => ({ kind: 'pods', job, pods }),
    );
    await this.#inParts(
      nodes,
      ({ pods }) => 1 + pods.length,
      (some) => ({ kind: 'nodes', job, nodes: some }),
    );
    const numbered: { nodePool: (typeof pools)[number]['nodePool']; types: number }[] = [];
    for (const { nodePool, instanceTypes } of pools)
      numbered.push({ nodePool, types: await this.#idOf(instanceTypes) });
    if (this.failed) throw new Error('The thread of the solver ended');
    const { promise, resolve, reject } = Promise.withResolvers<Plan>();
    this.#jobs.set(job, { resolve, reject });
    this.#worker.ref();
    this.#send({ kind: 'solve', job, rest, pools: numbered, options });
    return promise;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #send(part: Part): void {
    this.#worker.postMessage(part);
  }

  async #inParts<T>(items: readonly T[], weightOf: (item: T) => number, partOf: (items: T[]) => Part): Promise<void> {
    let part: T[] = [];
    let weight = 0;
    for (const item of items) {
      part.push(item);
      weight += weightOf(item);
      if (weight < PODS_PER_TURN) continue;
      this.#send(partOf(part));
      part = [];
      weight = 0;
      await nextTurn();
    }
    if (part.length > 0) this.#send(partOf(part));
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
