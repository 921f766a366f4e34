/** Logs when the memory of the process is near its limit, before the kernel kills the process. */
import type { Logger } from '../observe/logger.ts';
import { MEMORY_LIMIT_BYTES, MEMORY_NEAR_LIMIT } from '../observe/metrics/process.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { MemoryLimit } from './memory-budget.ts';

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

/** Returns a check that must be called every few seconds. */
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
