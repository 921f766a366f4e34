/**
 * A thread for long computations about the cluster, so that the main thread can serve watches, leases and probes. The worker
 * keeps a copy of the cluster. The operator sends the changes since the last request in small parts, because copying also blocks
 * the main thread.
 */
import { type ResourceLimits, type WorkerOptions as StartOptions, Worker } from 'node:worker_threads';
import type { KubeObject, Pod } from '#api/objects';
import {
  type InstanceType,
  type Plan,
  type PodRefusal,
  type PoolInput,
  podKey,
  type Snapshot,
  type SolveOptions,
  type StateNode,
} from '#engine/model';
import { defined, messageOf } from '#lib';
import { type Clock, realClock, yielding } from '#lib/clock';
import type { EngineThreadName, Returning } from '#process/memory';
import { SentLists } from './copied-lists.ts';
import { SentTypes } from './instance-type-lists.ts';
import { weightOfDevices, weightOfPod } from './pod-weight.ts';
import { newBoard, podOnBoard } from './progress-board.ts';
import {
  COPIED_DEVICES,
  type NumberedPool,
  type RequestKind,
  type RequestMessage,
  type Requests,
  type ResponseMessage,
  type Results,
  type SerializedSnapshot,
  type SerializedSolveOptions,
  type StateMessage,
  type WorkerData,
} from './protocol.ts';
import type { Solver } from './solver.ts';
import { type Reports, Supervision, Suspects } from './supervision.ts';
import { numberedNode, numberedPod } from './trimmed.ts';
import { EngineWorkerEnd, endOf, Watchdog } from './watchdog.ts';
import type { TurnTaker, WorkerTurns } from './worker-turns.ts';

export interface WorkerOptions {
  /**
   * Heap limits of the thread. If the thread needs more memory, it ends, but the process continues. Default: the limits of
   * Node.js.
   */
  readonly resourceLimits?: ResourceLimits;
  /** Clock for the timeouts of requests. Default: the clock of the machine. */
  readonly clock?: Clock;
  /** Pods that may have ended earlier workers. Default: suspects of only this worker. */
  readonly suspects?: Suspects;
  /** Turns of the workers. Default: the workers exist independently of each other. */
  readonly turns?: WorkerTurns;
  /** URL of the worker program. Default: the program of the product. */
  readonly url?: URL;
}

/** Maximum duration of a garbage collection on a busy machine, in milliseconds. */
const COLLECTION_MS = 30_000;

interface Job {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Engine worker that does not keep the process alive. After a failure, it is unusable, and the next request needs another worker.
 */
export class EngineWorker {
  failed = false;
  readonly #thread: Worker;
  readonly #name: EngineThreadName;
  readonly #jobs = new Map<number, Job>();
  readonly #lists = new SentLists((message) => this.send(message));
  readonly #types = new SentTypes((message) => this.send(message));
  /** Lists of instance types of the last snapshot that was sent. */
  #typesOfSnapshot: ReadonlySet<readonly InstanceType[]> = new Set();
  /** Additional lists of the request that is being sent. */
  readonly #typesOfRequest = new Set<readonly InstanceType[]>();
  /** Send operation in progress. The next operation starts after it. */
  #sending: Promise<unknown> = Promise.resolve();
  #lastJob = 0;
  /** Current work of this worker. */
  readonly #board = newBoard();
  readonly #watchdog: Watchdog;

  /**
   * Starts this worker.
   * @throws EngineWorkerEnd if the worker cannot be started
   */
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
   * Calls `prepare` to send the data of the request, and then sends the request. Requests are sent sequentially,
   * because each request changes the data of this worker. If the worker needs more than `mostMs` for a request, it is
   * terminated.
   * @throws EngineWorkerEnd if the worker ends before it responds
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
      // this worker resolves lists when it receives a request, so lists of only earlier requests can be dropped
      this.#types.keep(this.#typesOfSnapshot.union(this.#typesOfRequest));
    });
    this.#sending = sent.catch(() => undefined);
    await sent;
    return promise;
  }

  get isIdle(): boolean {
    return this.#jobs.size === 0;
  }

  /**
   * Requests a garbage collection. If this worker ends because of it, the next request starts another worker, as after
   * any failure.
   */
  async giveBack(): Promise<void> {
    if (this.failed) return;
    await this.ask('collect', async () => undefined, COLLECTION_MS).catch(() => undefined);
  }

  /** Sends the lists of a snapshot to this worker and returns the rest of the snapshot. Only for use in `prepare`. */
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
      resourceClaims,
      resourceSlices,
      deviceClasses,
      deviceTaintRules,
      resourceClaimTemplates,
      ...rest
    } = snapshot;
    const lists = this.#lists;
    await lists.send({ name: 'nodes', items: nodes, weightOf: weightOfNode, formOf: numberedNode });
    await lists.send({ name: 'pendingPods', items: pendingPods, weightOf: weightOfPod, formOf: numberedPod });
    await lists.send({ name: 'daemonPods', items: daemonPods, weightOf: weightOfPod, formOf: numberedPod });
    await lists.send({ name: 'namespaces', items: namespaces });
    await lists.send({ name: 'podDisruptionBudgets', items: podDisruptionBudgets });
    await lists.send({ name: 'persistentVolumeClaims', items: persistentVolumeClaims });
    await lists.send({ name: 'persistentVolumes', items: persistentVolumes });
    await lists.send({ name: 'storageClasses', items: storageClasses });
    const deviceLists = {
      resourceClaims,
      resourceSlices,
      deviceClasses,
      deviceTaintRules,
      resourceClaimTemplates,
    };
    for (const name of COPIED_DEVICES)
      await lists.send<KubeObject>({ name, items: deviceLists[name] ?? [], weightOf: weightOfDevices });
    const numbered = await this.sendTypes(pools);
    this.#typesOfSnapshot = new Set(pools.map(({ instanceTypes }) => instanceTypes));
    return { rest, pools: numbered, hasDevices: resourceClaims !== undefined };
  }

  /** Sends the instance types of the pools to this worker. Only for use in `prepare`. */
  async sendTypes(pools: readonly PoolInput[]): Promise<readonly NumberedPool[]> {
    const pause = yielding();
    const numbered: NumberedPool[] = [];
    for (const { instanceTypes, ...rest } of pools) {
      this.#typesOfRequest.add(instanceTypes);
      numbered.push({ types: await this.#types.send(instanceTypes, pause), rest });
    }
    return numbered;
  }

  /** Sends a message without waiting for a response. Only for use in `prepare`. @throws DataCloneError */
  send(message: StateMessage | RequestMessage): void {
    this.#thread.postMessage(message);
  }

  /** Terminates this worker. Pending requests fail. */
  async close(): Promise<void> {
    this.#fail(this.#ended());
    await this.#thread.terminate();
  }

  /**
   * Runs `prepare`. After an error, closes this worker, because it has only a part of the data. The next worker
   * receives all data.
   */
  async #prepared<Request>(prepare: () => Promise<Request>): Promise<Request> {
    try {
      return await prepare();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  #endHung(mostMs: number): void {
    const text = `has not responded within ${mostMs / 1000}s and is terminated`;
    this.#fail(new EngineWorkerEnd(this.#name, 'hung', { text, pod: podOnBoard(this.#board) }));
    void this.#thread.terminate();
  }

  #settle(message: ResponseMessage): void {
    this.#watchdog.answered(message.job);
    const job = this.#jobs.get(message.job);
    this.#jobs.delete(message.job);
    if (this.#jobs.size === 0) this.#thread.unref();
    if ('error' in message) job?.reject(new Error(message.error));
    // this worker returns the result type of the request
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

/** Engine worker that starts with the first request, and starts again with the next request after a failure. */
export class SupervisedWorker implements Returning, TurnTaker {
  readonly isUrgent: boolean;
  protected readonly suspects: Suspects;
  readonly #name: EngineThreadName;
  readonly #options: WorkerOptions;
  readonly #supervision: Supervision;
  #worker: EngineWorker | undefined;
  /** Threads that ended for the other worker. Their requests are sent again. */
  readonly #yielded = new WeakSet<EngineWorker>();
  /** Last end that was reported, because several requests can fail with the same end. */
  #reported: EngineWorkerEnd | undefined;

  constructor(name: EngineThreadName, options: WorkerOptions) {
    const { clock = realClock(), suspects = new Suspects(clock) } = options;
    this.#name = name;
    this.#options = options;
    this.isUrgent = name === 'solver';
    this.suspects = suspects;
    this.#supervision = new Supervision(clock, suspects);
    options.turns?.join(this);
  }

  /** Sets the log and the metrics for reports about ends of this worker. */
  reportTo(reports: Reports): void {
    this.#supervision.reportTo(reports);
  }

  /** @throws Error if the workers end repeatedly without a response */
  check(): void {
    this.#supervision.check();
  }

  get isIdle(): boolean {
    return this.#worker?.isIdle ?? true;
  }

  async giveBack(): Promise<void> {
    await this.#worker?.giveBack();
  }

  get hasThread(): boolean {
    return this.#worker?.failed === false;
  }

  async endThread(): Promise<void> {
    if (this.#worker === undefined) return;
    this.#yielded.add(this.#worker);
    await this.#worker.close();
  }

  /** Terminates this worker. Requests in progress fail. */
  async close(): Promise<void> {
    await this.#worker?.close();
  }

  /**
   * Runs a request. If this worker ends, the request fails, and suspected pods are held. `pods` are all pods of the
   * request.
   * @throws EngineWorkerEnd if the worker ends before it responds
   */
  protected async run<T>(
    request: string,
    pods: readonly Pod[],
    work: (worker: EngineWorker) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const { turns } = this.#options;
      // without turns, the request starts in this step, so that `close` ends it
      const end = turns === undefined ? undefined : await turns.begin(this);
      let worker: EngineWorker | undefined;
      try {
        worker = await this.#running();
        const answer = await work(worker);
        this.#supervision.answered(request);
        return answer;
      } catch (error) {
        if (error instanceof EngineWorkerEnd && error !== this.#reported) {
          this.#reported = error;
          this.#supervision.died(error, pods, request);
        }
        if (worker === undefined || !this.#yielded.has(worker)) throw error;
      } finally {
        end?.();
      }
    }
  }

  async #running(): Promise<EngineWorker> {
    if (this.#worker?.failed !== false) await this.#supervision.pause();
    if (this.#worker?.failed !== false) this.#worker = new EngineWorker(this.#name, this.#options);
    return this.#worker;
  }
}

const weightOfNode = ({ pods }: StateNode): number => pods.reduce((sum, pod) => sum + weightOfPod(pod), 1);

/** Worker program: in the sources next to this file, in the bundle next to the entry points. */
const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './engine-worker.js', import.meta.url);

/** @throws EngineWorkerEnd if the machine cannot start another thread */
function startThread(url: URL, options: StartOptions & { readonly name: EngineThreadName }): Worker {
  try {
    return new Worker(url, options);
  } catch (error) {
    const why = messageOf(error);
    throw new EngineWorkerEnd(options.name, 'failed', { text: `cannot be started: ${why}` });
  }
}

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

  async #solve(snapshot: Snapshot, { elapsedMs: _, working: __, ...given }: SolveOptions): Promise<Plan> {
    let options: SerializedSolveOptions = given;
    for (let left = TRIES - 1; ; left--) {
      const held = this.suspects.among(snapshot.pendingPods);
      try {
        return withRefusals(await this.#ask(snapshot, held, options), held);
      } catch (error) {
        if (!(error instanceof EngineWorkerEnd) || left <= 0) throw error;
        // the search for a cheaper plan needs more memory
        if (error.reason === 'out-of-memory') options = { ...options, packing: 'compatible' };
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
