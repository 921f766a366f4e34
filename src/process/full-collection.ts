/** Collects the garbage of this thread so that V8 also releases the pages that it has emptied. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Maximum size of the heap, in bytes, for a full collection. A full collection stops the thread for about 1.5 ms per MB of
 * objects and visits each object at least twice. V8 collects a larger heap itself, in small steps, after a period with
 * almost no allocations.
 */
const COLLECTED_MOST_BYTES = 96 * 2 ** 20;

type Collect = (options: {
  readonly type: 'major';
  readonly execution: 'sync';
  readonly flavor: 'last-resort';
}) => void;

/** Collects all garbage. Returns the duration in milliseconds, or undefined if the heap is too large for one step. */
export function collectFully(mostBytes = COLLECTED_MOST_BYTES): number | undefined {
  if (getHeapStatistics().used_heap_size > mostBytes) return undefined;
  const startedMs = performance.now();
  // only this flavor of collection releases pages; V8 uses it as the last resort before it runs out of memory
  exposedCollect()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  return performance.now() - startedMs;
}

/** Returns V8's `gc` function from a new context. The context is released together with the function. */
function exposedCollect(): Collect {
  // Applies to contexts that are created later. It must stay set, because another thread may be between these two lines.
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as Collect;
}
