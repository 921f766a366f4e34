/**
 * Runs controllers. Feeds each controller's queue from the informers, passes the current object and a logger with context to its
 * reconciler, and schedules the next run from the outcome.
 *
 *   waiting for caches ──synced──▶ running ──signal aborts──▶ draining ──work in progress finished──▶ done
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kind, KubeObject } from '#api/objects';
import { type Clock, limiter } from '#lib/clock';
import { inController, type LogFields, type Logger } from '#observe/logger';
import type { Metrics } from '#observe/metrics';
import { UnreadableAnswer } from './answers.ts';
import { backOffMs } from './backoff.ts';
import { ApiError, type Informers, isConflict, type Store } from './client.ts';
import { type QueueResult, WorkQueue } from './queue.ts';
import { queueMeter } from './queue-metrics.ts';
import {
  type BackOff,
  type Controller,
  type Key,
  type KeyedWorker,
  type Outcome,
  type RateLimit,
  type ReconcileContext,
  type Reconciler,
  Requeue,
  type Singleton,
  type Trigger,
} from './reconciler.ts';
import { reconcileMeter } from './runtime-metrics.ts';
import { keyOf, refOf } from './store.ts';
import { ConnectionError } from './transport.ts';

interface RuntimeOptions {
  readonly controllers: readonly Controller[];
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Returns numbers in [0, 1) for waits after failures. Default: the random numbers of the machine. */
  readonly random?: (() => number) | undefined;
  /** Stops the controllers: no new work starts, waits end early, and steps in progress finish. */
  readonly signal: AbortSignal;
}

interface Runtime {
  /** Settles when all work in progress has finished after the stop. */
  readonly done: Promise<void>;
}

const CONCURRENCY = 10;
const BACK_OFF: BackOff = { baseMs: 5, maxMs: 1_000_000 };
const RATE_LIMIT: RateLimit = { qps: 10, burst: 100 };
/** Maximum wait after a failure of the API server, so that work continues soon after the server recovers. */
const UNSERVED_MS = 5_000;
/** Number of consecutive conflicts before the first report. Concurrent writers usually finish sooner. */
const MANY_CONFLICTS = 8;

interface Running {
  start(): void;
  stop(): Promise<void>;
}

export function runControllers(options: RuntimeOptions): Runtime {
  const running = options.controllers.map((controller) => prepare(controller, options));
  return { done: run(running, options) };
}

async function run(running: readonly Running[], { informers, signal }: RuntimeOptions): Promise<void> {
  try {
    await informers.synced(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  if (!signal.aborted) {
    for (const controller of running) controller.start();
    await new Promise<void>((resolve) => {
      if (signal.aborted) return resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
  await Promise.all(running.map((controller) => controller.stop()));
}

function prepare(controller: Controller, options: RuntimeOptions): Running {
  if ('singleton' in controller) return prepareSingleton(controller, options);
  if ('keyed' in controller) return prepareKeyed(controller, options);
  return prepareReconciler(controller, options);
}

function prepareReconciler<T extends KubeObject>(reconciler: Reconciler<T>, options: RuntimeOptions): Running {
  const { informers } = options;
  const { watches } = reconciler;
  const store = informers.store(watches, {}, { optional: reconciler.optional ?? false });
  const attempt = attempts(reconciler, options);
  /** Keys whose object was deleted since the last work on the key. */
  const gone = new Set<string>();

  const queue = queueFor(reconciler, options, async (key, failures) => {
    const ref = refOf(key);
    if (gone.delete(key)) reconciler.removed?.(ref);
    const object = store.get(ref);
    if (object === undefined) return { kind: 'done' };
    return attempt(
      () => contextOf(watches, ref),
      failures,
      (context) => reconciler.reconcile(object, context),
    );
  });

  const unsubscribes: (() => void)[] = [];
  const open = (triggers: readonly Trigger[]): void => {
    for (const { kind, optional: isOptional = false, keysFor } of triggers) {
      const source: Store<KubeObject> = informers.store(kind, {}, { optional: isOptional });
      const wake = (keys: readonly Key[]): void => {
        for (const key of keys) queue.add(keyOf(key));
      };
      unsubscribes.push(source.subscribe((event, object, before) => wake(keysFor(object, event, before))));
    }
  };
  const { triggers = [] } = reconciler;
  const deferred = triggers.filter((trigger) => trigger.deferred);
  open(triggers.filter((trigger) => !trigger.deferred));
  unsubscribes.push(
    store.subscribe((event, object, before) => {
      open(deferred.splice(0));
      const key = keyOf(object.metadata);
      const isTracked = event === 'deleted' && reconciler.removed !== undefined;
      if (isTracked) gone.add(key);
      if (isTracked || reconciler.filter?.(object, event, before) !== false) queue.add(key);
    }),
  );
  return stoppingFirst(queue, () => {
    for (const unsubscribe of unsubscribes) unsubscribe();
  });
}

function prepareKeyed(worker: KeyedWorker, options: RuntimeOptions): Running {
  const attempt = attempts(worker, options);
  const queue = queueFor(worker, options, (key, failures) =>
    attempt(
      () => worker.describe?.(key) ?? {},
      failures,
      (context) => worker.reconcile(key, context),
    ),
  );
  worker.bind((key) => queue.add(key));
  return stoppingFirst(queue, () => undefined);
}

function prepareSingleton(singleton: Singleton, options: RuntimeOptions): Running {
  const { clock, random, signal } = options;
  const attempt = attempts({ ...singleton, concurrency: 1 }, options);
  const backOff = singleton.backOff ?? BACK_OFF;
  let loop = Promise.resolve();

  const work = async (): Promise<void> => {
    let failures = 0;
    while (!signal.aborted) {
      const verdict = await attempt(
        () => ({}),
        failures,
        (context) => singleton.reconcile(context),
      );
      failures = verdict.kind === 'retry' ? failures + 1 : 0;
      if (verdict.kind === 'retry')
        await clock.sleep(Math.min(backOffMs(backOff, failures - 1, random), verdict.longestMs ?? Infinity), signal);
      else if (verdict.kind === 'again') await clock.sleep(verdict.waitMs, signal);
      // a loop that always runs again immediately must not starve other work
      else await nextTurn();
    }
  };
  return {
    start: () => {
      loop = work();
    },
    stop: () => loop,
  };
}

type Named = Pick<Singleton, 'name' | 'concurrency' | 'backOff' | 'rateLimit'>;

function queueFor(
  controller: Named,
  options: RuntimeOptions,
  work: (key: string, failures: number) => Promise<QueueResult>,
): WorkQueue {
  const { clock, metrics, random } = options;
  const { qps, burst } = controller.rateLimit ?? RATE_LIMIT;
  return new WorkQueue({
    clock,
    work,
    concurrency: controller.concurrency ?? CONCURRENCY,
    backOff: controller.backOff ?? BACK_OFF,
    retries: limiter(clock, qps, burst),
    random,
    meter: queueMeter(metrics, clock, controller.name),
  });
}

function stoppingFirst(queue: WorkQueue, unsubscribe: () => void): Running {
  return {
    start: () => queue.start(),
    stop: () => {
      unsubscribe();
      return queue.stop();
    },
  };
}

/** @param failures number of consecutive failures before this attempt */
type Attempt = (
  fields: () => LogFields,
  failures: number,
  step: (context: ReconcileContext) => Promise<Outcome>,
) => Promise<QueueResult>;

/** Creates the logger and its fields on first use, because most steps write no log lines. */
function contextWith(signal: AbortSignal, open: () => Logger): ReconcileContext {
  let log: Logger | undefined;
  return {
    signal,
    get log(): Logger {
      log ??= open();
      return log;
    },
  };
}

/** Runs one step of a controller and returns its outcome. Never throws. */
function attempts(controller: Named, { log, metrics, signal }: RuntimeOptions): Attempt {
  const meter = reconcileMeter(metrics, controller.name, controller.concurrency ?? CONCURRENCY);
  return async (fields, failures, step) => {
    const context = contextWith(signal, () =>
      log.with({ controller: controller.name, ...fields(), reconcileID: randomUUID() }),
    );
    const finished = meter.started();
    try {
      const outcome = await inController(controller.name, () => step(context));
      finished(outcome.kind === 'after' ? 'requeue_after' : 'success');
      return outcome.kind === 'after' ? { kind: 'again', waitMs: outcome.waitMs } : { kind: 'done' };
    } catch (error) {
      finished(report(error, failures + 1, context), error);
      return isUnserved(error) ? { kind: 'retry', longestMs: UNSERVED_MS } : { kind: 'retry' };
    }
  };
}

function report(error: unknown, failures: number, { log, signal }: ReconcileContext): 'requeue' | 'error' {
  // a conflict means that the cache was too old; the next try reads the other client's write
  if (!(error instanceof Requeue || isConflict(error) || signal.aborted)) {
    log.error('Reconciler error', { error });
    return 'error';
  }
  log.debug('requeued', { error });
  const isReported =
    failures >= MANY_CONFLICTS && Number.isInteger(Math.log2(failures)) && causesOf(error).some(isConflict);
  if (isReported) log.error('repeated write conflicts, retrying', { failures, error });
  return 'requeue';
}

function contextOf(kind: Kind<KubeObject>, { name, namespace }: Key): LogFields {
  const reference = namespace === undefined ? { name } : { name, namespace };
  return {
    controllerGroup: kind.group,
    controllerKind: kind.kind,
    [kind.kind]: reference,
    namespace: namespace ?? '',
    name,
  };
}

/** Returns true if a failure or one of its causes concerns the server, its load or the operator's permissions. */
function isUnserved(error: unknown): boolean {
  return causesOf(error).some(
    (cause) =>
      cause instanceof ConnectionError ||
      cause instanceof UnreadableAnswer ||
      (cause instanceof ApiError && (cause.status >= 500 || [401, 403, 409, 429].includes(cause.status))),
  );
}

/** Returns the error, its causes, and the members of AggregateErrors. */
function causesOf(error: unknown): readonly unknown[] {
  const found: unknown[] = [];
  for (const pending = [error]; pending.length > 0 && found.length < MOST_CAUSES; ) {
    const next = pending.shift();
    found.push(next);
    if (next instanceof AggregateError) pending.push(...next.errors);
    if (next instanceof Error && next.cause !== undefined) pending.push(next.cause);
  }
  return found;
}

const MOST_CAUSES = 100;
