/** Divides the memory that the operator may use between its threads. */

const MIB = 2 ** 20;

export interface MemoryLimit {
  readonly bytes: number;
  /** Origin of this limit. */
  readonly source: 'MEMORY_LIMIT' | 'the container' | 'the machine';
}

/**
 * Returns the minimum of the setting, the limit of the cgroup and the memory of the machine, all in bytes. If the container
 * has no limit, the setting may be the memory of the whole node.
 * @param constrained result of `process.constrainedMemory()`: 0 or more than the memory of the machine if there is no limit
 */
export function memoryLimit(setting: number, constrained: number, machine: number): MemoryLimit {
  if (setting > 0 && setting < machine && !(constrained > 0 && constrained < setting))
    return { bytes: setting, source: 'MEMORY_LIMIT' };
  if (constrained > 0 && constrained < machine) return { bytes: constrained, source: 'the container' };
  return { bytes: machine, source: 'the machine' };
}

/** Limits in MiB, in the format of a Worker's `resourceLimits`. */
export interface HeapLimits {
  readonly maxOldGenerationSizeMb: number;
  readonly maxYoungGenerationSizeMb: number;
}

export interface MemoryBudget {
  readonly limitMb: number;
  /** Heap of the main thread, including its young generation. Only the command line of Node.js can set it. */
  readonly mainMb: number;
  /** Limits of each worker. */
  readonly worker: HeapLimits;
  /** Number of workers that can exist at the same time. */
  readonly workers: 1 | 2;
  /** Memory outside the heaps: code, stacks, buffers, messages between threads. */
  readonly reserveMb: number;
  /** Amount by which the sum exceeds the limit; 0 if there is no excess. */
  readonly excessMb: number;
}

/** Minimum reserve: code, stacks and connections need this much regardless of the limit. */
const LEAST_RESERVE_MB = 80;
const RESERVE_SHARE = 0.2;
/** Share of the limit that the command line of the image gives to the old generation of the main thread. */
const MAIN_SHARE = 0.26;
/** Heap of the main thread that is worth more than a second worker. */
const LEAST_MAIN_BESIDE_TWO_MB = 128;
/** Heap in which the main thread starts and holds the instance types of a region, but no cluster. */
const LEAST_MAIN_MB = 76;
/** Young generation of a thread: three semi-spaces of 4 MiB. Solving is as fast as with V8's default of 192 MiB. */
export const YOUNG_MB = 12;
/** Minimum heap of a worker. With less, a worker cannot hold the instance types of a region and schedule a pod. */
const LEAST_WORKER_MB = 64;
/**
 * Maximum heap of a worker: several times the memory that 5,000 nodes with 50,000 pods need. A larger heap would only delay
 * garbage collection.
 */
const MOST_WORKER_MB = 2_048;

/**
 * Divides the limit between the main thread, the workers and the reserve. If two workers do not fit beside the main thread, one
 * worker exists at a time, and the main thread gets the memory of the second.
 * @param mainHeapBytes V8's limit of the main thread, including the young generation. Default: the limit that fits best
 */
export function memoryBudget(limitBytes: number, mainHeapBytes?: number): MemoryBudget {
  const limitMb = Math.floor(limitBytes / MIB);
  const reserveMb = Math.max(LEAST_RESERVE_MB, Math.floor(limitMb * RESERVE_SHARE));
  const heapsMb = limitMb - reserveMb;
  const given = mainHeapBytes === undefined ? undefined : Math.ceil(mainHeapBytes / MIB);
  const beside = Math.max(LEAST_MAIN_BESIDE_TWO_MB, Math.floor(limitMb * MAIN_SHARE) + YOUNG_MB);
  const workers = heapsMb - (given ?? beside) >= 2 * LEAST_WORKER_MB ? 2 : 1;
  const single = Math.max(LEAST_MAIN_MB, Math.min(LEAST_MAIN_BESIDE_TWO_MB, heapsMb - LEAST_WORKER_MB));
  const mainMb = given ?? (workers === 2 ? beside : single);
  const share = Math.floor((heapsMb - mainMb) / workers);
  const workerMb = Math.min(MOST_WORKER_MB, Math.max(LEAST_WORKER_MB, share));
  return {
    limitMb,
    mainMb,
    worker: { maxOldGenerationSizeMb: workerMb - YOUNG_MB, maxYoungGenerationSizeMb: YOUNG_MB },
    workers,
    reserveMb,
    excessMb: Math.max(0, mainMb + workers * workerMb - heapsMb),
  };
}
