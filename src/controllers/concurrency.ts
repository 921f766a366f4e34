/** How many keys controllers work on at once, and how fast, by the CPU that the operator was given. */
import type { RateLimit } from '../kube/reconciler.ts';
import type { Settings } from '../process/settings.ts';

interface ConcurrencyRange {
  /** At one CPU. */
  readonly min: number;
  /** At sixty CPUs and more. */
  readonly max: number;
}

type Cpu = Pick<Settings, 'cpuRequests'>;

export function concurrency({ cpuRequests }: Cpu, { min, max }: ConcurrencyRange): number {
  const cpus = Math.ceil(cpuRequests / 1000);
  return Math.min(max, Math.max(min, Math.floor(((max - min) / 59) * (cpus - 1)) + min));
}

/** One bucket over all keys that grows with the concurrency. `baseQps` is the rate at one CPU. */
export function globalLimit(cpu: Cpu, range: ConcurrencyRange, baseQps: number): RateLimit {
  const qps = Math.ceil((concurrency(cpu, range) * baseQps) / range.min);
  return { qps, burst: 10 * qps };
}
