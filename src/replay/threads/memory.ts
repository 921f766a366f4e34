/** Memory limits of a replay and of each of its threads. */
import { totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { forgetHeapFlags, type HeapLimits, memoryLimit } from '#process/memory';

const MIB = 2 ** 20;

/** Share of the memory that a replay may use. The rest is for other processes and the page cache. */
const SHARE = 0.75;
/** Memory for the thread that reads the trace and writes the result. */
const MAIN_MB = 96;
/** Memory of each thread outside its heap: code, stacks, buffers, and the garbage collector's working memory. */
const OFF_HEAP_MB = 160;
/**
 * Young generation, which V8 divides into three semi-spaces of 16 MiB. Replays are not slower than with V8's default of
 * 192 MiB.
 */
const YOUNG_MB = 48;
/** A thread with a smaller heap cannot load its program. */
const LEAST_OLD_MB = 32;
/**
 * Growth of a heap after a collection, relative to its live objects, before it is collected again. V8 may allow three
 * times as much.
 */
const GROWTH_PERCENT = 100;

export interface ReplayMemory {
  /** Limit of all threads together. */
  readonly bytes: number;
  /** Number of threads at the same time. */
  readonly threads: number;
  /** Heap limits of each thread. */
  readonly heap: HeapLimits;
}

/** @param bytes default: a share of the memory of the machine or its container */
export function replayMemory(threads: number, bytes = SHARE * machineBytes()): ReplayMemory {
  const each = Math.floor((bytes / MIB - MAIN_MB) / threads);
  const oldMb = Math.max(LEAST_OLD_MB, each - OFF_HEAP_MB - YOUNG_MB);
  return { bytes, threads, heap: { maxOldGenerationSizeMb: oldMb, maxYoungGenerationSizeMb: YOUNG_MB } };
}

const machineBytes = (): number => memoryLimit(0, process.constrainedMemory(), totalmem()).bytes;

/**
 * Makes threads that start from now on keep their limits and collect early. Otherwise, a heap with a limit of many GiB
 * for large clusters would keep one GiB of garbage for a small cluster.
 */
export function collectEarly(): void {
  forgetHeapFlags();
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

export const heapMib = ({ heap }: ReplayMemory): number => heap.maxOldGenerationSizeMb + heap.maxYoungGenerationSizeMb;
