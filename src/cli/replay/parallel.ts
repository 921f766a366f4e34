/** How many sets of settings are played at a time. */
import { availableParallelism } from 'node:os';

/** What a run takes of memory, by far the most of them less. */
const RUN_BYTES = 1.25 * 2 ** 30;

export interface Machine {
  readonly cores: number;
  /** Memory that is free. */
  readonly freeBytes: number;
}

const thisMachine = (): Machine => ({ cores: availableParallelism(), freeBytes: process.availableMemory() });

/**
 * As many as there are cores, and memory for.
 * @param mostBytes  what they may take together
 */
export const runsAtOnce = (
  mostBytes = Number.POSITIVE_INFINITY,
  { cores, freeBytes }: Machine = thisMachine(),
): number => Math.max(1, Math.min(cores, Math.floor(Math.min(freeBytes, mostBytes) / RUN_BYTES)));
