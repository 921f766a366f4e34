/**
 * The near side of a thread that works on the cluster while this one answers watches, leases and probes. The thread keeps
 * a copy of the cluster: what changed since the last question goes over, in small parts, because copying blocks as well.
 */
import { Worker } from 'node:worker_threads';
import type { Pod } from '../api/kubernetes.ts';
import type { InstanceType, PoolInput, Snapshot, StateNode } from '../engine/model.ts';
import { Copies } from './copies.ts';
import type { Failure, HoldMessage, NumberedPool, SnapshotFrame } from './enginemessages.ts';
import { inTurns } from './turns.ts';

/**
 * Lists of instance types that a thread keeps, or as many as one question needs if those are more. A new list comes with
 * every change of prices or offerings.
 */
const MOST_TYPE_LISTS = 32;
/** Instance types copied at a stretch: a few milliseconds' worth. */
const TYPES_PER_STEP = 100;

/** What goes over instead of an object. */
export interface Forms {
  readonly node: (node: StateNode) => StateNode;
  readonly pendingPod: (pod: Pod) => Pod;
}

interface Job<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** It never keeps the process alive by itself. Once it has failed, it is of no use: the next question needs another. */
export class EngineThread<Message, Answer extends { readonly job: number }> {
  failed = false;
  readonly #worker: Worker;
  /** What it is called in errors. */
  readonly #name: string;
  readonly #jobs = new Map<number, Job<Answer>>();
  readonly #copies = new Copies((message) => this.send(message));
  /** Numbers of the lists of instance types that the thread has, the least recently used first. */
  readonly #typeLists = new Map<readonly InstanceType[], number>();
  /** Those of them that the question being sent is about. */
  readonly #inUse = new Set<readonly InstanceType[]>();
  /** What is being sent, after which the next may be. */
  #sending: Promise<unknown> = Promise.resolve();
  #lastId = 0;

  constructor(url: URL, name: string) {
    this.#name = name;
    this.#worker = new Worker(url);
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer | Failure) => this.#settle(answer));
    this.#worker.on('error', (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
    this.#worker.on('exit', () => this.#fail(this.#ended()));
  }

  /**
   * Has `prepare` show the thread what the question is about, and asks. Questions go over one after the other, because
   * each changes what the thread holds.
   */
  async ask(prepare: (job: number) => Promise<Message>): Promise<Answer> {
    const job = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const sent = this.#sending.then(async () => {
      this.#inUse.clear();
      const listsBefore = this.#typeLists.size;
      const message = await this.#prepared(() => prepare(job));
      if (this.failed) throw this.#ended();
      this.send(message);
      this.#jobs.set(job, { resolve, reject });
      this.#worker.ref();
      // a question without new lists leaves those of the others alone
      if (this.#typeLists.size > listsBefore) this.#forgetOldest();
    });
    this.#sending = sent.catch(() => undefined);
    await sent;
    return promise;
  }

  /** Has the thread hold the lists of a snapshot; answers the rest of it. For `prepare` alone. */
  async show(snapshot: Snapshot, forms: Forms): Promise<SnapshotFrame> {
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
    const copies = this.#copies;
    await copies.show({ name: 'nodes', items: nodes, weightOf: ({ pods }) => 1 + pods.length, formOf: forms.node });
    await copies.show({ name: 'pendingPods', items: pendingPods, formOf: forms.pendingPod });
    await copies.show({ name: 'daemonPods', items: daemonPods });
    await copies.show({ name: 'namespaces', items: namespaces });
    await copies.show({ name: 'podDisruptionBudgets', items: podDisruptionBudgets });
    await copies.show({ name: 'persistentVolumeClaims', items: persistentVolumeClaims });
    await copies.show({ name: 'persistentVolumes', items: persistentVolumes });
    await copies.show({ name: 'storageClasses', items: storageClasses });
    return { rest, pools: await this.numbered(pools) };
  }

  /** Has the thread hold the instance types of the pools. For `prepare` alone. */
  async numbered(pools: readonly PoolInput[]): Promise<readonly NumberedPool[]> {
    const pause = inTurns();
    const numbered: NumberedPool[] = [];
    for (const { nodePool, instanceTypes } of pools) {
      numbered.push({ nodePool, types: await this.#numberOf(instanceTypes, pause) });
    }
    return numbered;
  }

  /** Sends what has no answer. For `prepare` alone. @throws DataCloneError */
  send(message: Message | HoldMessage): void {
    this.#worker.postMessage(message);
  }

  /** Ends the thread. Questions without an answer fail. */
  async close(): Promise<void> {
    this.#fail(this.#ended());
    await this.#worker.terminate();
  }

  /** What has gone over only in part is of no use: after an error the next thread gets all of it. */
  async #prepared(prepare: () => Promise<Message>): Promise<Message> {
    try {
      return await prepare();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #numberOf(types: readonly InstanceType[], pause: () => Promise<void>): Promise<number> {
    const known = this.#typeLists.get(types);
    const id = known ?? ++this.#lastId;
    if (known === undefined) {
      // an empty list goes over as well: a number without a list is an error
      let from = 0;
      do {
        this.send({ kind: 'types', id, types: types.slice(from, from + TYPES_PER_STEP) });
        await pause();
        from += TYPES_PER_STEP;
      } while (from < types.length);
    }
    this.#typeLists.delete(types);
    this.#typeLists.set(types, id);
    this.#inUse.add(types);
    return id;
  }

  /** The thread looks lists up as a question comes in, so that those which only earlier questions need may go. */
  #forgetOldest(): void {
    const surplus = this.#typeLists.size - Math.max(MOST_TYPE_LISTS, this.#inUse.size);
    // the lists in use come last
    for (const [types, id] of [...this.#typeLists].slice(0, Math.max(0, surplus))) {
      this.#typeLists.delete(types);
      this.send({ kind: 'forget', id });
    }
  }

  #settle(answer: Answer | Failure): void {
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

  #ended(): Error {
    return new Error(`The thread of the ${this.#name} ended`);
  }
}

/**
 * Where the code of a thread is, for the module with this URL.
 * @param name of the file beside it, without an ending
 * @param folder of the bundle that holds it, from the entry points
 */
export function threadUrl(moduleUrl: string, name: string, folder: string): URL {
  const isSource = moduleUrl.endsWith('.ts');
  return new URL(isSource ? `./${name}.ts` : `./${folder}/${name}.js`, moduleUrl);
}
