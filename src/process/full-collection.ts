/** A collection of this thread's garbage after which V8 keeps no pages that it has emptied. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * It stops the thread for some 1.5 ms per MB of objects, and looks at all of them twice at least. A larger heap is left to V8, which
 * does it in small steps once next to nothing is allocated for a while.
 */
const COLLECTED_MOST_BYTES = 96 * 2 ** 20;

type Collect = (options: {
  readonly type: 'major';
  readonly execution: 'sync';
  readonly flavor: 'last-resort';
}) => void;

/** Answers how long it took, in milliseconds; undefined where the heap is too large to be collected at a stretch. */
export function collectFully(mostBytes = COLLECTED_MOST_BYTES): number | undefined {
  if (getHeapStatistics().used_heap_size > mostBytes) return undefined;
  const startedMs = performance.now();
  // no other collection that can be asked for gives pages back: V8 calls it the last resort before it runs out of memory
  exposedCollect()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  return performance.now() - startedMs;
}

/** The function lives in a context of its own, which goes with it. */
function exposedCollect(): Collect {
  // for contexts that are made from now on, and never unset: another thread may be between these two lines as well
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as Collect;
}
