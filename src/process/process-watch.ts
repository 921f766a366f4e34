/** Watches the process as a whole, regardless of its workload: its memory, its threads, and the metrics of both. */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import type { Logger } from '../observe/logger.ts';
import { MEMORY_LIMIT_BYTES, MEMORY_NEAR_LIMIT } from '../observe/metrics/process.ts';
import type { Metrics } from '../observe/metrics.ts';
import { shareGcCounts } from './gc-seconds.ts';
import { forgetHeapFlags } from './heap-flags.ts';
import { type HeapLimits, type MemoryLimit, memoryBudget, memoryLimit } from './memory-budget.ts';
import { type MemoryReturnOptions, returnMemory } from './memory-return.ts';
import { runtimeMetrics } from './runtime-metrics.ts';

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
}

/**
 * Returns a check that logs when the memory is near its limit, before the kernel kills the process. It must be called every
 * few seconds.
 */
export function memoryWatch({ limit, metrics, log, residentBytes }: MemoryWatchOptions): () => void {
  metrics.gauge(MEMORY_LIMIT_BYTES).set(limit.bytes);
  const gauge = metrics.gauge(MEMORY_NEAR_LIMIT);
  gauge.set(0);
  let isNear = false;
  return () => {
    const resident = residentBytes();
    const share = resident / limit.bytes;
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

interface Watched {
  readonly metrics: Metrics;
  readonly log: Logger;
}

interface ProcessWatch {
  /** Heap limits of each worker. */
  readonly workerLimits: HeapLimits;
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

  return {
    workerLimits: budget.worker,
    start({ metrics, log }, memory) {
      runtimeMetrics({ metrics, threads: () => workers, gc });
      report(limit, budget, log);
      const residentBytes = (): number => process.memoryUsage.rss();
      setInterval(memoryWatch({ limit, metrics, log, residentBytes }), LOOK_MS).unref();
      returnMemory({ ...memory, log, residentBytes });
    },
  };
}

function report(limit: MemoryLimit, budget: ReturnType<typeof memoryBudget>, log: Logger): void {
  const { mainMb, worker, reserveMb, excessMb } = budget;
  const fields = {
    'limit-mib': Math.round(limit.bytes / 2 ** 20),
    'limit-of': limit.source,
    'main-heap-mib': mainMb,
    'worker-heap-mib': worker.maxOldGenerationSizeMb + worker.maxYoungGenerationSizeMb,
    'reserve-mib': reserveMb,
  };
  log.debug('calculated the memory limits of heaps', fields);
  if (excessMb === 0) return;
  const remedy = 'start node with --max-old-space-size-percentage=26 --max-semi-space-size=4, or raise the limit';
  log.error('the sum of the heap limits exceeds the memory limit', { ...fields, 'excess-mib': excessMb, remedy });
}
