/** Metrics of the process and of V8 in each of its threads, under the names that dashboards of Node.js processes know. */
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

/** A busy thread answers between two steps of its loops; one that is stuck in native code never does. */
const ANSWER_MS = 500;

interface RuntimeMetricsOptions {
  readonly metrics: Metrics;
  /** Threads other than the main one, by name; those that have ended are not among them. */
  readonly threads: () => ReadonlyMap<string, Worker>;
  readonly gc: () => readonly GcCount[];
}

/** As container images and Go name architectures; others as Node.js names them. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** `commit`: the source revision, empty when it is not known. */
export function showBuild(
  metrics: Metrics,
  { version, commit }: { readonly version: string; readonly commit: string },
): void {
  const goarch = ARCHITECTURES[process.arch] ?? process.arch;
  metrics.gauge(BUILD_INFO).set({ version, goversion: `node${process.versions.node}`, goarch, commit }, 1);
}

type Heap = Pick<ReturnType<typeof getHeapStatistics>, 'used_heap_size' | 'total_heap_size' | 'heap_size_limit'>;

/** To be called once per process: some of what it measures it measures all the time. */
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
      [...threads()].map(async ([name, worker]) => ({ name, ...(await measured(worker)) })),
    );
    // each is counted elsewhere, and reported as it is now
    for (const metric of [used, total, limit, busy, collections, seconds]) metric.reset();
    show('main', getHeapStatistics(), performance.eventLoopUtilization().active);
    for (const { name, heap, activeMs } of seen) if (heap !== undefined) show(name, heap, activeMs);
    for (const count of gc()) {
      collections.inc({ thread: count.thread }, count.collections);
      seconds.inc({ thread: count.thread }, count.seconds);
    }
  });
}

/** Without a heap when the thread has ended, or does not answer. */
async function measured(worker: Worker): Promise<{ readonly heap: Heap | undefined; readonly activeMs: number }> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), ANSWER_MS);
  const heap = await Promise.race([worker.getHeapStatistics().catch(() => undefined), late.promise]);
  clearTimeout(timer);
  return { heap, activeMs: worker.performance.eventLoopUtilization().active };
}
