/**
 * A thread that works on the cluster while this one answers watches, leases and probes. The worker keeps a copy of the
 * cluster: what changed since the last request is sent, in small parts, because copying blocks as well.
 */
import { type ResourceLimits, type WorkerOptions as StartOptions, Worker } from 'node:worker_threads';
import type { InstanceType, PoolInput, Snapshot, StateNode } from '../engine/model.ts';
import { type Clock, realClock } from '../lib/clock.ts';
import { defined } from '../lib/defined.ts';
import { messageOf } from '../lib/error-message.ts';
import { yielding } from '../lib/yielding.ts';
import type { EngineThreadName } from '../process/gc-seconds.ts';
import { SentLists } from './copied-lists.ts';
import { SentTypes } from './instance-type-lists.ts';
import { weightOfPod } from './pod-weight.ts';
import { newBoard, podOnBoard } from './progress-board.ts';
import type {
  NumberedPool,
  RequestKind,
  RequestMessage,
  Requests,
  ResponseMessage,
  Results,
  SerializedSnapshot,
  StateMessage,
  WorkerData,
} from './protocol.ts';
import type { Suspects } from './supervision.ts';
import { trimmedNode, trimmedPod } from './trimmed.ts';
import { EngineWorkerEnd, endOf, Watchdog } from './watchdog.ts';

export interface WorkerOptions {
  /** Heap of the thread. It ends when it needs more, and not the process. Node's own bounds when left out. */
  readonly resourceLimits?: ResourceLimits;
  /** For the time that requests have; that of the machine when left out. */
  readonly clock?: Clock;
  /** Pods that workers did not come back from; of this worker alone when left out. */
  readonly suspects?: Suspects;
  /** Its program, where it is not the product's own. */
  readonly url?: URL;
}

/** What a collection takes at most, on a machine that has no time for it. */
const COLLECTION_MS = 30_000;

interface Job {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** It never keeps the process alive by itself. Once it has failed, it is of no use: the next request needs another. */
export class EngineWorker {
  failed = false;
  readonly #thread: Worker;
  readonly #name: EngineThreadName;
  readonly #jobs = new Map<number, Job>();
  readonly #lists = new SentLists((message) => this.send(message));
  readonly #types = new SentTypes((message) => this.send(message));
  /** Lists of instance types that the snapshot sent last is about. */
  #typesOfSnapshot: ReadonlySet<readonly InstanceType[]> = new Set();
  /** Those that the request being sent is about besides. */
  readonly #typesOfRequest = new Set<readonly InstanceType[]>();
  /** What is being sent, after which the next may be. */
  #sending: Promise<unknown> = Promise.resolve();
  #lastJob = 0;
  /** What the worker works on. */
  readonly #board = newBoard();
  readonly #watchdog: Watchdog;

  /** @throws EngineWorkerEnd when it cannot be started */
  constructor(name: EngineThreadName, { clock = realClock(), resourceLimits, url = PROGRAM }: WorkerOptions = {}) {
    this.#name = name;
    const workerData: WorkerData = { name, board: this.#board };
    this.#thread = startThread(url, { name, workerData, ...defined({ resourceLimits }) });
    this.#thread.unref();
    this.#thread.on('message', (message: ResponseMessage) => this.#settle(message));
    this.#thread.on('error', (error) => this.#fail(endOf(name, this.#board, error)));
    this.#thread.on('exit', () => this.#fail(endOf(name, this.#board)));
    this.#watchdog = new Watchdog(clock, (mostMs) => this.#endHung(mostMs));
  }

  /**
   * Has `prepare` send what the request is about, and sends the request. Requests are sent one after the other, because each changes
   * what the worker holds. A worker that works on one for more than `mostMs` is ended.
   * @throws EngineWorkerEnd when the worker ends before it has answered
   */
  async ask<K extends RequestKind>(kind: K, prepare: () => Promise<Requests[K]>, mostMs: number): Promise<Results[K]> {
    const job = ++this.#lastJob;
    const { promise, resolve, reject } = Promise.withResolvers<Results[K]>();
    const sent = this.#sending.then(async () => {
      this.#typesOfRequest.clear();
      const request = await this.#prepared(prepare);
      if (this.failed) throw this.#ended();
      this.send({ kind, job, request } as RequestMessage);
      this.#jobs.set(job, { resolve, reject });
      this.#watchdog.sent(job, mostMs);
      this.#thread.ref();
      // the worker looks lists up as a request comes in: those which only earlier ones need may go
      this.#types.keep(this.#typesOfSnapshot.union(this.#typesOfRequest));
    });
    this.#sending = sent.catch(() => undefined);
    await sent;
    return promise;
  }

  get isIdle(): boolean {
    return this.#jobs.size === 0;
  }

  /** Has the worker collect its garbage. One that ends of it is replaced at the next request, as any that has failed. */
  async giveBack(): Promise<void> {
    if (this.failed) return;
    await this.ask('collect', async () => undefined, COLLECTION_MS).catch(() => undefined);
  }

  /** Has the worker hold the lists of a snapshot; answers the rest of it. For `prepare` alone. */
  async sendSnapshot(snapshot: Snapshot): Promise<SerializedSnapshot> {
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
    const lists = this.#lists;
    await lists.send({ name: 'nodes', items: nodes, weightOf: weightOfNode, formOf: trimmedNode });
    await lists.send({ name: 'pendingPods', items: pendingPods, weightOf: weightOfPod, formOf: trimmedPod });
    await lists.send({ name: 'daemonPods', items: daemonPods, weightOf: weightOfPod, formOf: trimmedPod });
    await lists.send({ name: 'namespaces', items: namespaces });
    await lists.send({ name: 'podDisruptionBudgets', items: podDisruptionBudgets });
    await lists.send({ name: 'persistentVolumeClaims', items: persistentVolumeClaims });
    await lists.send({ name: 'persistentVolumes', items: persistentVolumes });
    await lists.send({ name: 'storageClasses', items: storageClasses });
    const numbered = await this.sendTypes(pools);
    this.#typesOfSnapshot = new Set(pools.map(({ instanceTypes }) => instanceTypes));
    return { rest, pools: numbered };
  }

  /** Has the worker hold the instance types of the pools. For `prepare` alone. */
  async sendTypes(pools: readonly PoolInput[]): Promise<readonly NumberedPool[]> {
    const pause = yielding();
    const numbered: NumberedPool[] = [];
    for (const { nodePool, instanceTypes, extras } of pools) {
      this.#typesOfRequest.add(instanceTypes);
      numbered.push({ nodePool, types: await this.#types.send(instanceTypes, pause), extras });
    }
    return numbered;
  }

  /** Sends what has no answer. For `prepare` alone. @throws DataCloneError */
  send(message: StateMessage | RequestMessage): void {
    this.#thread.postMessage(message);
  }

  /** Ends the worker. Requests without an answer fail. */
  async close(): Promise<void> {
    this.#fail(this.#ended());
    await this.#thread.terminate();
  }

  /** What was sent only in part is of no use: after an error the next worker gets all of it. */
  async #prepared<Request>(prepare: () => Promise<Request>): Promise<Request> {
    try {
      return await prepare();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  #endHung(mostMs: number): void {
    const text = `has not answered within ${mostMs / 1000}s and is ended`;
    this.#fail(new EngineWorkerEnd(this.#name, 'hung', { text, pod: podOnBoard(this.#board) }));
    void this.#thread.terminate();
  }

  #settle(message: ResponseMessage): void {
    this.#watchdog.answered(message.job);
    const job = this.#jobs.get(message.job);
    this.#jobs.delete(message.job);
    if (this.#jobs.size === 0) this.#thread.unref();
    if ('error' in message) job?.reject(new Error(message.error));
    // the worker answers what it was sent
    else job?.resolve(message.result as never);
  }

  #fail(error: Error): void {
    this.failed = true;
    this.#watchdog.stop();
    for (const { reject } of this.#jobs.values()) reject(error);
    this.#jobs.clear();
  }

  #ended(): Error {
    return new Error(`The ${this.#name} worker ended`);
  }
}

const weightOfNode = ({ pods }: StateNode): number => pods.reduce((sum, pod) => sum + weightOfPod(pod), 1);

/** Beside this file in the sources, beside the entry points in the bundle. */
const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './engine-worker.js', import.meta.url);

/** @throws EngineWorkerEnd when the machine has no thread to give */
function startThread(url: URL, options: StartOptions & { readonly name: EngineThreadName }): Worker {
  try {
    return new Worker(url, options);
  } catch (error) {
    const why = messageOf(error);
    throw new EngineWorkerEnd(options.name, 'failed', { text: `cannot be started: ${why}` });
  }
}
