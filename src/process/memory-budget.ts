/** How the memory that the operator may use is divided between its threads. */

const MIB = 2 ** 20;

export interface MemoryLimit {
  readonly bytes: number;
  /** Where it is known from. */
  readonly source: 'MEMORY_LIMIT' | 'the container' | 'the machine';
}

/**
 * The least of what the setting says, what the cgroup allows, and what the machine has. Without a limit the setting may
 * hold the memory of the whole node.
 * @param constrained what `process.constrainedMemory()` answers: 0 or more than the machine has when there is no limit
 */
export function memoryLimit(setting: number, constrained: number, machine: number): MemoryLimit {
  if (setting > 0 && setting < machine && !(constrained > 0 && constrained < setting))
    return { bytes: setting, source: 'MEMORY_LIMIT' };
  if (constrained > 0 && constrained < machine) return { bytes: constrained, source: 'the container' };
  return { bytes: machine, source: 'the machine' };
}

/** In MiB, as `resourceLimits` of a Worker takes them. */
export interface HeapLimits {
  readonly maxOldGenerationSizeMb: number;
  readonly maxYoungGenerationSizeMb: number;
}

interface MemoryBudget {
  /** V8's limit of the main thread, which only the command line of Node.js can set. */
  readonly mainMb: number;
  /** Of each worker. */
  readonly worker: HeapLimits;
  /** For what is not on a heap: code, stacks, buffers, messages between threads. */
  readonly reserveMb: number;
  /** By how much all of it exceeds the limit; 0 when it fits. */
  readonly excessMb: number;
}

/** Code, stacks and connections take this much, whatever the limit is. */
const LEAST_RESERVE_MB = 96;
const RESERVE_SHARE = 0.2;
/** V8 takes three semi-spaces of 4 MiB for it. Solving is not slower than with the 192 MiB that it would take. */
const YOUNG_MB = 12;
/** With less a worker cannot hold the instance types of a region and look for a place for a pod. */
const LEAST_WORKER_MB = 64;
/** What 5,000 nodes with 50,000 pods need several times over; more would only let garbage lie for longer. */
const MOST_WORKER_MB = 2_048;

/** @param mainHeapBytes V8's limit of the main thread, young generation included */
export function memoryBudget(limitBytes: number, mainHeapBytes: number, workers = 2): MemoryBudget {
  const limitMb = Math.floor(limitBytes / MIB);
  const mainMb = Math.ceil(mainHeapBytes / MIB);
  const reserveMb = Math.max(LEAST_RESERVE_MB, Math.floor(limitMb * RESERVE_SHARE));
  const share = Math.floor((limitMb - reserveMb - mainMb) / workers);
  const workerMb = Math.min(MOST_WORKER_MB, Math.max(LEAST_WORKER_MB, share));
  return {
    mainMb,
    worker: { maxOldGenerationSizeMb: workerMb - YOUNG_MB, maxYoungGenerationSizeMb: YOUNG_MB },
    reserveMb,
    excessMb: Math.max(0, mainMb + workers * workerMb + reserveMb - limitMb),
  };
}
