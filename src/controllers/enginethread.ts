/**
 * The near side of a thread that works on the cluster while this one answers watches, leases and probes. The thread keeps
 * a copy of the cluster: what changed since the last question goes over, in small parts, because copying blocks as well.
 */
import { type ResourceLimits, Worker, type WorkerOptions } from 'node:worker_threads';
import type { Pod } from '../api/kubernetes.ts';
import type { InstanceType, PoolInput, Snapshot, StateNode } from '../engine/model.ts';
import { type Clock, realClock } from '../kube/clock.ts';
import { Copies } from './copies.ts';
import type { Suspects } from './engine-supervision.ts';
import { deathOf, EngineDeath, Watchdog } from './engine-watchdog.ts';
import type { Failure, HoldMessage, NumberedPool, SnapshotFrame } from './enginemessages.ts';
import { ShownTypes } from './instance-type-lists.ts';
import { weightOfPod } from './pod-weight.ts';
import { newBoard, podOnBoard, type SharedBoard } from './progress-board.ts';
import { inTurns } from './turns.ts';

/** What goes over instead of an object. */
export interface Forms {
  readonly node: (node: StateNode) => StateNode;
  readonly pendingPod: (pod: Pod) => Pod;
}

export interface ThreadOptions {
  /** Heap of the thread. It ends when it needs more, and not the process. Node's own bounds when left out. */
  readonly resourceLimits?: ResourceLimits;
  /** For the time that questions have; that of the machine when left out. */
  readonly clock?: Clock;
  /** Pods that threads did not come back from; of this thread alone when left out. */
  readonly suspects?: Suspects;
  /** Its code, where it is not the product's own. */
  readonly url?: URL;
}

/** What a thread gets when it starts. */
export interface ThreadData {
  readonly board: SharedBoard;
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
  readonly #types = new ShownTypes((message) => this.send(message));
  /** Lists of instance types that the snapshot shown last is about. */
  #ofSnapshot: ReadonlySet<readonly InstanceType[]> = new Set();
  /** Those that the question being sent is about besides. */
  readonly #ofQuestion = new Set<readonly InstanceType[]>();
  /** What is being sent, after which the next may be. */
  #sending: Promise<unknown> = Promise.resolve();
  #lastId = 0;
  /** What the thread works on. */
  readonly #board = newBoard();
  readonly #watchdog: Watchdog;

  /** @throws EngineDeath when it cannot be started */
  constructor(url: URL, name: string, { clock = realClock(), resourceLimits, url: own = url }: ThreadOptions = {}) {
    this.#name = name;
    const workerData: ThreadData = { board: this.#board };
    this.#worker = startWorker(own, { name, workerData, ...(resourceLimits && { resourceLimits }) });
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer | Failure) => this.#settle(answer));
    this.#worker.on('error', (error) => this.#fail(deathOf(name, this.#board, error)));
    this.#worker.on('exit', () => this.#fail(deathOf(name, this.#board)));
    this.#watchdog = new Watchdog(clock, (mostMs) => this.#endHung(mostMs));
  }

  /**
   * Has `prepare` show the thread what the question is about, and asks. Questions go over one after the other, because
   * each changes what the thread holds. A thread that works on one for more than `mostMs` is ended.
   * @throws EngineDeath when the thread ends before it has answered
   */
  async ask(prepare: (job: number) => Promise<Message>, mostMs: number): Promise<Answer> {
    const job = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const sent = this.#sending.then(async () => {
      this.#ofQuestion.clear();
      const message = await this.#prepared(() => prepare(job));
      if (this.failed) throw this.#ended();
      this.send(message);
      this.#jobs.set(job, { resolve, reject });
      this.#watchdog.asked(job, mostMs);
      this.#worker.ref();
      // the thread looks lists up as a question comes in: those which only earlier ones need may go
      this.#types.keep(this.#ofSnapshot.union(this.#ofQuestion));
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
    await copies.show({ name: 'nodes', items: nodes, weightOf: weightOfNode, formOf: forms.node });
    await copies.show({ name: 'pendingPods', items: pendingPods, weightOf: weightOfPod, formOf: forms.pendingPod });
    await copies.show({ name: 'daemonPods', items: daemonPods, weightOf: weightOfPod });
    await copies.show({ name: 'namespaces', items: namespaces });
    await copies.show({ name: 'podDisruptionBudgets', items: podDisruptionBudgets });
    await copies.show({ name: 'persistentVolumeClaims', items: persistentVolumeClaims });
    await copies.show({ name: 'persistentVolumes', items: persistentVolumes });
    await copies.show({ name: 'storageClasses', items: storageClasses });
    const numbered = await this.numbered(pools);
    this.#ofSnapshot = new Set(pools.map(({ instanceTypes }) => instanceTypes));
    return { rest, pools: numbered };
  }

  /** Has the thread hold the instance types of the pools. For `prepare` alone. */
  async numbered(pools: readonly PoolInput[]): Promise<readonly NumberedPool[]> {
    const pause = inTurns();
    const numbered: NumberedPool[] = [];
    for (const { nodePool, instanceTypes } of pools) {
      this.#ofQuestion.add(instanceTypes);
      numbered.push({ nodePool, types: await this.#types.show(instanceTypes, pause) });
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

  #endHung(mostMs: number): void {
    const text = `has not answered within ${mostMs / 1000}s and is ended`;
    this.#fail(new EngineDeath(this.#name, 'hung', { text, pod: podOnBoard(this.#board) }));
    void this.#worker.terminate();
  }

  #settle(answer: Answer | Failure): void {
    this.#watchdog.answered(answer.job);
    const job = this.#jobs.get(answer.job);
    this.#jobs.delete(answer.job);
    if (this.#jobs.size === 0) this.#worker.unref();
    if ('error' in answer) job?.reject(new Error(answer.error));
    else job?.resolve(answer);
  }

  #fail(error: Error): void {
    this.failed = true;
    this.#watchdog.stop();
    for (const { reject } of this.#jobs.values()) reject(error);
    this.#jobs.clear();
  }

  #ended(): Error {
    return new Error(`The thread of the ${this.#name} ended`);
  }
}

const weightOfNode = ({ pods }: StateNode): number => pods.reduce((sum, pod) => sum + weightOfPod(pod), 1);

/** @throws EngineDeath when the machine has no thread to give */
function startWorker(url: URL, options: WorkerOptions & { readonly name: string }): Worker {
  try {
    return new Worker(url, options);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new EngineDeath(options.name, 'failed', { text: `cannot be started: ${why}` });
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
