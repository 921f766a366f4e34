/**
 * Ends the process before V8 aborts it. V8 does so after several collections in succession that free little of a heap above
 * 80 %: with text on standard error, by a signal, and without a line in the log. A single turn of the event loop that fills
 * the rest of the heap is not noticed.
 */
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
import type { Logger } from '../observe/logger.ts';
import { EXIT } from './exit-codes.ts';

const MIB = 2 ** 20;
/** Part of the old generation that is in use after a collection. */
const FULL_SHARE = 0.85;
/**
 * Collections in succession that leave the heap full. One of them may count objects that died while V8 marked. The fourth is
 * V8's last, and collections that this file requests would count too.
 */
const FULL_COLLECTIONS = 2;
/** V8's default for the main thread of a 64-bit process. */
const SEMI_SPACE_MB = 64;

/** The old generation, which holds the objects that survive. */
export interface HeapUse {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

/** Returns a check to be called after each collection of the whole heap. */
export function heapGuard(measure: () => HeapUse, onFull: (use: HeapUse) => void): () => void {
  let full = 0;
  return () => {
    const use = measure();
    full = use.usedBytes > FULL_SHARE * use.limitBytes ? full + 1 : 0;
    if (full === FULL_COLLECTIONS) onFull(use);
  };
}

/** The young generation is three semi-spaces. Node.js reports their limit nowhere. */
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

/** Watches the heap of this thread for as long as the process lives. */
export function guardHeap(log: Logger): void {
  const check = heapGuard(measureOldGeneration, ({ usedBytes, limitBytes }) => {
    log.error('the heap of the main thread is nearly full, ending the process', {
      'used-mib': Math.round(usedBytes / MIB),
      'limit-mib': Math.round(limitBytes / MIB),
      'exit-code': EXIT.outOfMemory,
    });
    process.exit(EXIT.outOfMemory);
  });
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { detail } = entry as { readonly detail?: { readonly kind?: number } };
      if (detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR) check();
    }
  });
  observer.observe({ entryTypes: ['gc'] });
}
