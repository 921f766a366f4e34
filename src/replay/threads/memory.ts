/** What a replay may take of memory, and what each of its threads may. */
import { totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { forgetHeapFlags } from '../../process/heap-flags.ts';
import { type HeapLimits, memoryLimit } from '../../process/memory-budget.ts';

const MIB = 2 ** 20;

/** The rest is for others on the machine, and for what the kernel keeps of files. */
const SHARE = 0.75;
/** For the thread that reads the trace and writes the result. */
const MAIN_MB = 96;
/** Of each thread, beside its heap: code, stacks, buffers, and what the collector needs while it works. */
const OFF_HEAP_MB = 160;
/** V8 takes three semi-spaces of 16 MiB for it. Replays are not slower than with the 192 MiB that it would take. */
const YOUNG_MB = 48;
/** A thread with less cannot load its program. */
const LEAST_OLD_MB = 32;
/** By how much a heap may grow beyond what was alive in it before it is collected again; V8 may allow three times as much. */
const GROWTH_PERCENT = 100;

export interface ReplayMemory {
  /** All together. */
  readonly bytes: number;
  /** Threads at a time. */
  readonly threads: number;
  /** Of each. */
  readonly heap: HeapLimits;
}

/** @param bytes  a share of what the machine has, or its container, when left out */
export function replayMemory(threads: number, bytes = SHARE * machineBytes()): ReplayMemory {
  const each = Math.floor((bytes / MIB - MAIN_MB) / threads);
  const oldMb = Math.max(LEAST_OLD_MB, each - OFF_HEAP_MB - YOUNG_MB);
  return { bytes, threads, heap: { maxOldGenerationSizeMb: oldMb, maxYoungGenerationSizeMb: YOUNG_MB } };
}

const machineBytes = (): number => memoryLimit(0, process.constrainedMemory(), totalmem()).bytes;

/**
 * Has threads that start from now on keep their limits, and collect early: a heap that may grow to many GiB, because a large
 * cluster needs them, would else take a GiB of a small one's garbage.
 */
export function collectEarly(): void {
  forgetHeapFlags();
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

export const heapMib = ({ heap }: ReplayMemory): number => heap.maxOldGenerationSizeMb + heap.maxYoungGenerationSizeMb;
