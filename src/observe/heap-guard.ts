/**
 * Ends the process before V8 aborts it. V8 does so when a heap that is full does not shrink: with text on standard error, by
 * a signal, and without a line in the log. A single turn of the event loop that fills the rest of the heap is not noticed.
 */
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { EXIT } from './exit-codes.ts';
import { collectFully } from './full-collection.ts';
import type { Logger } from './logger.ts';

const MIB = 2 ** 20;
/** Left for the turns between two collections, whichever is more. */
const LEAST_LEFT_BYTES = 8 * MIB;
const LEFT_SHARE = 0.05;
/** V8's default for the main thread of a 64-bit process. */
const SEMI_SPACE_MB = 64;

export interface HeapUse {
  readonly usedBytes: number;
  /** V8's limit, young generation included. */
  readonly limitBytes: number;
}

export interface HeapGuardOptions {
  /** Part of the limit that objects which survive cannot use. */
  readonly youngBytes: number;
  readonly measure: () => HeapUse;
  /** Collects all garbage. */
  readonly collect: () => unknown;
  readonly onFull: (use: HeapUse) => void;
}

/** Returns a check to be called after each collection of the whole heap. */
export function heapGuard({ youngBytes, measure, collect, onFull }: HeapGuardOptions): () => void {
  const isFull = ({ usedBytes, limitBytes }: HeapUse): boolean =>
    limitBytes - youngBytes - usedBytes < Math.max(LEAST_LEFT_BYTES, limitBytes * LEFT_SHARE);
  return () => {
    // V8 marks while the program runs, so that objects which died meanwhile still count
    if (!isFull(measure())) return;
    collect();
    const use = measure();
    if (isFull(use)) onFull(use);
  };
}

/** The young generation is three semi-spaces. Node.js reports their limit nowhere. */
export function youngGenerationBytes(nodeOptions: readonly string[]): number {
  const given = nodeOptions.flatMap((option) => /^--max-semi-space-size=(\d+)$/.exec(option)?.[1] ?? []).at(-1);
  return 3 * (given === undefined ? SEMI_SPACE_MB : Number(given)) * MIB;
}

/** Watches the heap of this thread for as long as the process lives. */
export function guardHeap(log: Logger): void {
  const check = heapGuard({
    youngBytes: youngGenerationBytes(process.execArgv),
    measure: () => {
      const { used_heap_size: usedBytes, heap_size_limit: limitBytes } = getHeapStatistics();
      return { usedBytes, limitBytes };
    },
    collect: () => collectFully(Number.POSITIVE_INFINITY),
    onFull: ({ usedBytes, limitBytes }) => {
      log.error('the heap of the main thread is nearly full, ending the process', {
        'used-mib': Math.round(usedBytes / MIB),
        'limit-mib': Math.round(limitBytes / MIB),
        'exit-code': EXIT.outOfMemory,
      });
      process.exit(EXIT.outOfMemory);
    },
  });
  const observer = new PerformanceObserver((list) => {
    const kinds = list
      .getEntries()
      .map((entry) => (entry as { readonly detail?: { readonly kind?: number } }).detail?.kind);
    if (kinds.includes(constants.NODE_PERFORMANCE_GC_MAJOR)) check();
  });
  observer.observe({ entryTypes: ['gc'] });
}
