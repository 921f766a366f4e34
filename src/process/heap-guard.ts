/**
 * Ends the process before V8 aborts it. V8 does so after several collections in succession that free little of a heap above
 * 80 %: with text on standard error, by a signal, and without a line in the log. This guard cannot detect a single
 * turn of the event loop that fills the rest of the heap.
 */
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
import type { Logger } from '#observe/logger';
import { EXIT } from './exit-codes.ts';
import { collectFully } from './full-collection.ts';

const MIB = 2 ** 20;
/** Share of the old generation in use after a collection, above which the heap counts as full. */
export const FULL_SHARE = 0.85;
/**
 * Number of successive collections that leave the heap full. The first may count objects that died while V8 was marking. V8
 * gives up after the fourth, and the collection that this file requests counts too.
 */
const FULL_COLLECTIONS = 2;
/** V8's default for the main thread of a 64-bit process. */
const SEMI_SPACE_MB = 64;

/** Use of the old generation, which holds the objects that survive collections. */
export interface HeapUse {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

interface HeapGuardOptions {
  /** Called for the first of several successive collections that leave the heap full. */
  readonly onFirst: () => void;
  readonly onFull: (use: HeapUse) => void;
}

/** Returns a check that must be called after each collection of the whole heap. */
export function heapGuard(measure: () => HeapUse, { onFirst, onFull }: HeapGuardOptions): () => void {
  let full = 0;
  return () => {
    const use = measure();
    full = use.usedBytes > FULL_SHARE * use.limitBytes ? full + 1 : 0;
    if (full === 1) onFirst();
    if (full === FULL_COLLECTIONS) onFull(use);
  };
}

/** Returns the limit of the young generation, which has three semi-spaces. Node.js does not report their limit. */
export function youngGenerationBytes(nodeOptions: readonly string[]): number {
  const given = nodeOptions.flatMap((option) => /^--max-semi-space-size=(\d+)$/.exec(option)?.[1] ?? []).at(-1);
  return 3 * (given === undefined ? SEMI_SPACE_MB : Number(given)) * MIB;
}

function measureOldGeneration(): HeapUse {
  const used = getHeapSpaceStatistics()
    .filter(({ space_name: name }) => !name.startsWith('new_'))
    .map(({ space_used_size: bytes }) => bytes);
  const limitBytes = getHeapStatistics().heap_size_limit - youngGenerationBytes(process.execArgv);
  return { usedBytes: used.reduce((sum, bytes) => sum + bytes, 0), limitBytes };
}

/**
 * Watches the heap of this thread for as long as the process lives.
 * @param measured receives the heap use after each collection of the whole heap
 */
export function guardHeap(log: Logger, measured: (use: HeapUse) => void): void {
  const measure = (): HeapUse => {
    const use = measureOldGeneration();
    measured(use);
    return use;
  };
  const onFull = ({ usedBytes, limitBytes }: HeapUse): void => {
    log.error('the heap of the main thread is nearly full, ending the process', {
      'used-mib': Math.round(usedBytes / MIB),
      'limit-mib': Math.round(limitBytes / MIB),
      'exit-code': EXIT.outOfMemory,
    });
    process.exit(EXIT.outOfMemory);
  };
  // unlike V8's own, this collection does not count objects that died during the collection
  const check = heapGuard(measure, { onFirst: () => void setImmediate(collectFully), onFull });
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { detail } = entry as { readonly detail?: { readonly kind?: number } };
      if (detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR) check();
    }
  });
  observer.observe({ entryTypes: ['gc'] });
}
