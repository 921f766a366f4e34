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

/** As many as there are cores, and memory for. */
export const runsAtOnce = ({ cores, freeBytes }: Machine = thisMachine()): number =>
  Math.max(1, Math.min(cores, Math.floor(freeBytes / RUN_BYTES)));
