/**
 * Returns memory to the system that V8 has emptied but keeps. V8 itself returns memory of a thread after 100 seconds without
 * a collection of the whole heap, or sooner if the thread allocates almost no memory. An operator that is always busy may
 * never reach this state, so its memory would only grow.
 */
import { messageOf } from '#lib';
import type { Logger } from '#observe/logger';
import { collectFully } from './full-collection.ts';

/** Interval between two checks, and between the start and the first check. */
const LOOK_MS = 10 * 60_000;
/**
 * Pause after a collection. The thread then compiles some of its code again and needs most of the returned memory within
 * minutes.
 */
const REST_MS = 30 * 60_000;
/** Minimum growth of the process since it last returned memory, in bytes. */
const GROWTH_BYTES = 16 * 2 ** 20;
const MIB = 2 ** 20;

/** Memory interface of another thread. */
export interface Returning {
  readonly isIdle: boolean;
  /** Collects the garbage of this thread. Also resolves if the thread could not collect its garbage. */
  giveBack(): Promise<void>;
}

export interface MemoryReturnOptions {
  readonly clock: {
    /** Calls `fire` once after `ms`. */
    after(ms: number, fire: () => void): unknown;
  };
  readonly log: Logger;
  /** Resident memory of the process, in bytes. */
  readonly residentBytes: () => number;
  readonly workers: readonly Returning[];
  /** Collects the garbage of this thread. */
  readonly collect?: () => unknown;
}

/** Starts periodic checks until the process ends. Does not collect garbage while a worker is busy. */
export function returnMemory({
  clock,
  log,
  residentBytes,
  workers,
  collect = collectFully,
}: MemoryReturnOptions): void {
  let keptBytes = 0;
  let waitMs = LOOK_MS;
  const look = async (): Promise<void> => {
    waitMs = LOOK_MS;
    const before = residentBytes();
    if (before - keptBytes < GROWTH_BYTES || !workers.every(({ isIdle }) => isIdle)) return;
    collect();
    await Promise.all(workers.map((worker) => worker.giveBack()));
    keptBytes = residentBytes();
    waitMs = REST_MS;
    log.debug('released memory', { 'before-mib': Math.round(before / MIB), 'after-mib': Math.round(keptBytes / MIB) });
  };
  const next = (): void =>
    void clock.after(waitMs, () => {
      // the process must not end because memory could not be returned
      const failed = (error: unknown): void => log.debug('could not release memory', { error: messageOf(error) });
      void look().catch(failed).finally(next);
    });
  next();
}
