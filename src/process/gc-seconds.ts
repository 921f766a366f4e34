/**
 * Counts the garbage collections of threads. Each thread writes its counts to shared memory, because a busy thread does not
 * respond to messages, and a thread that has ended cannot respond.
 */
import { PerformanceObserver } from 'node:perf_hooks';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

const KEY = 'karpenter.gc';
/** Threads with counts. Each has two numbers in the shared memory: collections, then milliseconds. */
const THREADS = ['solver', 'disruption'] as const;

export type EngineThreadName = (typeof THREADS)[number];

export interface GcCount {
  readonly thread: EngineThreadName;
  readonly collections: number;
  readonly seconds: number;
}

/**
 * Creates the shared memory and returns a function that reads the current counts. The main thread must call this function
 * before it starts other threads.
 */
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

/**
 * Counts the garbage collections of the calling thread, which must call this function only once. Does nothing if the main
 * thread did not call `shareGcCounts`.
 */
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
