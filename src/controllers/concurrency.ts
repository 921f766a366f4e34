/** Computes the concurrency and rate limits of controllers from the CPU request of the operator. */
import type { RateLimit } from '#kube/reconcilers';
import type { Settings } from '#process/settings';

interface ConcurrencyRange {
  /** Concurrency with one CPU. */
  readonly min: number;
  /** Concurrency with 60 or more CPUs. */
  readonly max: number;
}

type Cpu = Pick<Settings, 'cpuRequests'>;

export function concurrency({ cpuRequests }: Cpu, { min, max }: ConcurrencyRange): number {
  const cpus = Math.ceil(cpuRequests / 1000);
  return Math.min(max, Math.max(min, Math.floor(((max - min) / 59) * (cpus - 1)) + min));
}

/**
 * Returns one rate limit for all keys. This limit increases with the concurrency. `baseQps` is the rate with one CPU.
 */
export function globalLimit(cpu: Cpu, range: ConcurrencyRange, baseQps: number): RateLimit {
  const qps = Math.ceil((concurrency(cpu, range) * baseQps) / range.min);
  return { qps, burst: 10 * qps };
}
