/** Watches the process as a whole, regardless of its workload: its memory, its threads, and the metrics of both. */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import type { Logger } from '#observe/logger';
import {
  BUILD_INFO,
  MEMORY_LIMIT_BYTES,
  MEMORY_NEAR_LIMIT,
  type Metrics,
  NODEJS_THREAD_EVENT_LOOP_ACTIVE_SECONDS,
  NODEJS_THREAD_GC,
  NODEJS_THREAD_GC_SECONDS,
  NODEJS_THREAD_HEAP_LIMIT_BYTES,
  NODEJS_THREAD_HEAP_TOTAL_BYTES,
  NODEJS_THREAD_HEAP_USED_BYTES,
} from '#observe/metrics';
import { collectFully } from './full-collection.ts';
import { type GcCount, shareGcCounts } from './gc-seconds.ts';
import { forgetHeapFlags } from './heap-flags.ts';
import type { HeapUse } from './heap-guard.ts';
import { type HeapLimits, type MemoryBudget, type MemoryLimit, memoryBudget, memoryLimit } from './memory-budget.ts';
import { allowedPods, type ClusterSize, neededLimitMb } from './memory-capacity.ts';
import { MemoryPressure } from './memory-pressure.ts';
import { type MemoryReturnOptions, returnMemory } from './memory-return.ts';

/** Shares of the limit. The gap between them prevents repeated reports if the value fluctuates around the first. */
const NEAR = 0.85;
const CALM = 0.75;
const MIB = 2 ** 20;

interface MemoryWatchOptions {
  readonly limit: MemoryLimit;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Resident memory of the process, in bytes. */
  readonly residentBytes: () => number;
  readonly pressure: Pick<MemoryPressure, 'resident'>;
}

/**
 * Returns a check that logs when the memory is near its limit, before the kernel kills the process. It must be called every
 * few seconds.
 */
export function memoryWatch({ limit, metrics, log, residentBytes, pressure }: MemoryWatchOptions): () => void {
  metrics.gauge(MEMORY_LIMIT_BYTES).set(limit.bytes);
  const gauge = metrics.gauge(MEMORY_NEAR_LIMIT);
  gauge.set(0);
  let isNear = false;
  return () => {
    const resident = residentBytes();
    const share = resident / limit.bytes;
    pressure.resident(share);
    if (!isNear && share > NEAR) {
      isNear = true;
      log.error('memory in use is near the limit at which the container is killed', {
        ...facts(resident, limit),
        remedy: 'raise controller.resources.limits.memory of the chart',
      });
    } else if (isNear && share < CALM) {
      isNear = false;
      log.info('memory in use is no longer near its limit', facts(resident, limit));
    }
    gauge.set(isNear ? 1 : 0);
  };
}

const facts = (resident: number, { bytes, source }: MemoryLimit): Readonly<Record<string, unknown>> => ({
  'used-mib': Math.round(resident / MIB),
  'limit-mib': Math.round(bytes / MIB),
  'limit-of': source,
});

const LOOK_MS = 5_000;
/** Lowest limit at which the operator works. */
const LEAST_LIMIT = '256Mi';
/** Maximum age of the measured heap use while memory is short, in milliseconds. */
const REMEASURED_MS = 60_000;

interface Watched {
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Returns undefined until the size is known. */
  readonly clusterSize: () => ClusterSize | undefined;
}

interface ProcessWatch {
  /** Heap limits of each worker. */
  readonly workerLimits: HeapLimits;
  readonly pressure: MemoryPressure;
  /** Returns true while only one worker may exist. */
  readonly isOneWorker: () => boolean;
  /** Must be called with the use of the main thread's heap after each collection of the whole heap. */
  readonly heapMeasured: (use: HeapUse) => void;
  /** Starts measuring and returning memory. This is a separate step, because it requires a log. */
  start(operator: Watched, memory: Pick<MemoryReturnOptions, 'clock' | 'workers'>): void;
}

/**
 * Divides the memory. Must be called before the first worker starts.
 * @param memorySetting `MEMORY_LIMIT` in bytes; no limit if not above 0
 */
export function watchProcess(memorySetting: number): ProcessWatch {
  const limit = memoryLimit(memorySetting, process.constrainedMemory(), totalmem());
  const budget = memoryBudget(limit.bytes, getHeapStatistics().heap_size_limit);
  forgetHeapFlags();

  const workers = new Map<string, Worker>();
  process.on('worker', (worker) => {
    const name = worker.threadName ?? 'worker';
    workers.set(name, worker);
    worker.once('exit', () => {
      if (workers.get(name) === worker) workers.delete(name);
    });
  });
  const gc = shareGcCounts();
  const pressure = new MemoryPressure();
  let measuredMs = 0;

  return {
    workerLimits: budget.worker,
    pressure,
    isOneWorker: () => budget.workers === 1 || pressure.stage > 0,
    heapMeasured(use) {
      measuredMs = performance.now();
      pressure.heapUsed(use);
    },
    start({ metrics, log, clusterSize }, memory) {
      runtimeMetrics({ metrics, threads: () => workers, gc });
      report(limit, budget, log);
      const compare = clusterWatch({ limit, log, clusterSize });
      const residentBytes = (): number => process.memoryUsage.rss();
      pressure.reportTo({ log, metrics });
      const look = memoryWatch({ limit, metrics, log, residentBytes, pressure });
      setInterval(() => {
        // an idle heap is not collected, so its use would not be known
        if (pressure.stage > 0 && performance.now() - measuredMs > REMEASURED_MS) collectFully();
        look();
        compare();
      }, LOOK_MS).unref();
      returnMemory({ ...memory, log, residentBytes });
    },
  };
}

function report(limit: MemoryLimit, budget: MemoryBudget, log: Logger): void {
  const { limitMb, mainMb, worker, workers, reserveMb, excessMb } = budget;
  const fields = {
    'limit-mib': limitMb,
    'limit-of': limit.source,
    'allowed-pods': allowedPods(limit.bytes),
    'main-heap-mib': mainMb,
    'worker-heap-mib': worker.maxOldGenerationSizeMb + worker.maxYoungGenerationSizeMb,
    'workers-at-a-time': workers,
    'reserve-mib': reserveMb,
  };
  log.info('divided the memory limit', fields);
  if (excessMb === 0) return;
  const remedy = `set controller.resources.limits.memory of the chart to at least ${LEAST_LIMIT}, and do not set --max-old-space-size`;
  log.error('the sum of the heap limits exceeds the memory limit', { ...fields, 'excess-mib': excessMb, remedy });
}

interface ClusterWatchOptions {
  readonly limit: MemoryLimit;
  readonly log: Logger;
  readonly clusterSize: () => ClusterSize | undefined;
}

/**
 * Returns a check that compares the limit with the size of the cluster, and reports it when the size is known and whenever the
 * cluster has outgrown the limit. It must be called every few seconds.
 */
export function clusterWatch({ limit, log, clusterSize }: ClusterWatchOptions): () => void {
  let reportedMb = 0;
  return () => {
    const size = clusterSize();
    if (size === undefined) return;
    const neededMb = neededLimitMb(size);
    const limitMb = Math.floor(limit.bytes / MIB);
    const fields = { ...size, 'limit-mib': limitMb, 'needed-mib': neededMb };
    if (neededMb > Math.max(limitMb, reportedMb)) {
      const remedy = `set controller.resources.limits.memory of the chart to at least ${neededMb}Mi`;
      log.error('the memory limit is too low for the cluster, working with less of it when it is short', {
        ...fields,
        remedy,
      });
    } else if (reportedMb === 0) log.info('the memory limit is sufficient for the cluster', fields);
    reportedMb = Math.max(reportedMb, neededMb);
  };
}

/**
 * Timeout for the response of a thread, in milliseconds. A busy thread responds between two steps of its loops. A
 * thread that is stuck in native code does not respond.
 */
const ANSWER_MS = 500;

interface RuntimeMetricsOptions {
  readonly metrics: Metrics;
  /** Running threads by name, without the main thread. */
  readonly threads: () => ReadonlyMap<string, Worker>;
  readonly gc: () => readonly GcCount[];
}

/** Names of architectures in container images and in Go. Other architectures keep the name that Node.js uses. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** Sets the metric of the build. `commit` is the source revision, or empty if it is unknown. */
export function showBuild(
  metrics: Metrics,
  { version, commit }: { readonly version: string; readonly commit: string },
): void {
  const goarch = ARCHITECTURES[process.arch] ?? process.arch;
  metrics.gauge(BUILD_INFO).set({ version, goversion: `node${process.versions.node}`, goarch, commit }, 1);
}

type Heap = Pick<ReturnType<typeof getHeapStatistics>, 'used_heap_size' | 'total_heap_size' | 'heap_size_limit'>;

/** Registers the metrics. Must be called only once per process, because some measurements run continuously. */
export function runtimeMetrics({ metrics, threads, gc }: RuntimeMetricsOptions): void {
  metrics.processDefaults();
  const used = metrics.gauge(NODEJS_THREAD_HEAP_USED_BYTES);
  const total = metrics.gauge(NODEJS_THREAD_HEAP_TOTAL_BYTES);
  const limit = metrics.gauge(NODEJS_THREAD_HEAP_LIMIT_BYTES);
  const busy = metrics.counter(NODEJS_THREAD_EVENT_LOOP_ACTIVE_SECONDS);
  const collections = metrics.counter(NODEJS_THREAD_GC);
  const seconds = metrics.counter(NODEJS_THREAD_GC_SECONDS);

  const show = (thread: string, heap: Heap, activeMs: number): void => {
    used.set({ thread }, heap.used_heap_size);
    total.set({ thread }, heap.total_heap_size);
    limit.set({ thread }, heap.heap_size_limit);
    busy.inc({ thread }, activeMs / 1_000);
  };
  metrics.beforeScrape(async () => {
    const seen = await Promise.all(
      [...threads()].map(async ([name, worker]) => ({ name, ...(await measureWorker(worker)) })),
    );
    // the counts are kept elsewhere, and this scrape reports their current values
    for (const metric of [used, total, limit, busy, collections, seconds]) metric.reset();
    show('main', getHeapStatistics(), performance.eventLoopUtilization().active);
    for (const { name, heap, activeMs } of seen) if (heap !== undefined) show(name, heap, activeMs);
    for (const count of gc()) {
      collections.inc({ thread: count.thread }, count.collections);
      seconds.inc({ thread: count.thread }, count.seconds);
    }
  });
}

/** Measures a worker. The heap is undefined if the thread has ended or does not respond in time. */
async function measureWorker(worker: Worker): Promise<{ readonly heap: Heap | undefined; readonly activeMs: number }> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), ANSWER_MS);
  const heap = await Promise.race([worker.getHeapStatistics().catch(() => undefined), late.promise]);
  clearTimeout(timer);
  return { heap, activeMs: worker.performance.eventLoopUtilization().active };
}
