/** Metrics of the process and of V8 in each thread, under the names that dashboards of Node.js processes use. */
import { getHeapStatistics } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import {
  BUILD_INFO,
  NODEJS_THREAD_EVENT_LOOP_ACTIVE_SECONDS,
  NODEJS_THREAD_GC,
  NODEJS_THREAD_GC_SECONDS,
  NODEJS_THREAD_HEAP_LIMIT_BYTES,
  NODEJS_THREAD_HEAP_TOTAL_BYTES,
  NODEJS_THREAD_HEAP_USED_BYTES,
} from '../observe/metrics/process.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { GcCount } from './gc-seconds.ts';

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
