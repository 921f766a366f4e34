/**
 * Garbage collection of threads. Each counts its own in memory that all share, because a thread that is busy answers no
 * message, and one that has ended none at all.
 */
import { PerformanceObserver } from 'node:perf_hooks';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

const KEY = 'karpenter.gc';
/** With two numbers each, collections and milliseconds, in this order. */
const THREADS = ['solver', 'disruption'] as const;

export type EngineThreadName = (typeof THREADS)[number];

export interface GcCount {
  readonly thread: EngineThreadName;
  readonly collections: number;
  readonly seconds: number;
}

/** For the main thread, before it starts others. Answers a function that reads what they have counted so far. */
export function shareGcCounts(): () => readonly GcCount[] {
  const counts = new Float64Array(new SharedArrayBuffer(2 * THREADS.length * Float64Array.BYTES_PER_ELEMENT));
  setEnvironmentData(KEY, counts.buffer as unknown as string);
  return () =>
    THREADS.map((thread, index) => ({
      thread,
      collections: counts[2 * index] ?? 0,
      seconds: (counts[2 * index + 1] ?? 0) / 1_000,
    }));
}

/** For the thread itself, once. Does nothing where nobody has asked for the counts. */
export function countGc(thread: EngineThreadName): void {
  const shared: unknown = getEnvironmentData(KEY);
  if (!(shared instanceof SharedArrayBuffer)) return;
  const counts = new Float64Array(shared);
  const at = 2 * THREADS.indexOf(thread);
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      counts[at] = (counts[at] ?? 0) + 1;
      counts[at + 1] = (counts[at + 1] ?? 0) + duration;
    }
  });
  observer.observe({ entryTypes: ['gc'] });
}
