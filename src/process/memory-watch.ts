/** Logs when the process comes near the memory that it may use, before the kernel ends it. */
import type { Logger } from '../observe/logger.ts';
import { MEMORY_LIMIT_BYTES, MEMORY_NEAR_LIMIT } from '../observe/metrics/process.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { MemoryLimit } from './memory-budget.ts';

/** Parts of the limit. The gap keeps a value that moves about the first from being reported again and again. */
const NEAR = 0.85;
const CALM = 0.75;
const MIB = 2 ** 20;

interface MemoryWatchOptions {
  readonly limit: MemoryLimit;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Bytes that the process has in memory. */
  readonly residentBytes: () => number;
}

/** Answers a function that looks once, to be called every few seconds. */
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
      log.error('memory in use is near its limit, after which the container is killed', {
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
