/**
 * Gives memory back to the system that V8 has emptied and keeps for itself. V8 does that by its own after a hundred seconds without a
 * collection of the whole heap, or sooner where next to nothing is allocated, thread by thread: an operator that always has
 * something to do may never come to that, and would only ever grow.
 */
import { messageOf } from '../lib/error-message.ts';
import type { Logger } from '../observe/logger.ts';
import { collectFully } from './full-collection.ts';

/** Between two looks, and from the start to the first. */
const LOOK_MS = 10 * 60_000;
/** A thread that is collected compiles some of its code again, and takes most of what it gave back within minutes. */
const REST_MS = 30 * 60_000;
/** Beyond what the process had after it gave memory back last. */
const GROWTH_BYTES = 16 * 2 ** 20;
const MIB = 2 ** 20;

/** A thread of its own, as far as its memory goes. */
export interface Returning {
  readonly isIdle: boolean;
  /** Resolves when it has collected its garbage, or could not. */
  giveBack(): Promise<void>;
}

export interface MemoryReturnOptions {
  readonly clock: {
    /** Calls `fire` once after `ms`. */
    after(ms: number, fire: () => void): unknown;
  };
  readonly log: Logger;
  /** Bytes that the process has in memory. */
  readonly residentBytes: () => number;
  readonly workers: readonly Returning[];
  /** Collects the garbage of this thread. */
  readonly collect?: () => unknown;
}

/** Looks from now on, for as long as the process lives. Nothing is collected while a worker works. */
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
    log.debug('gave memory back', { 'before-mib': Math.round(before / MIB), 'after-mib': Math.round(keptBytes / MIB) });
  };
  const next = (): void =>
    void clock.after(waitMs, () => {
      // memory that stays is no reason to end
      const failed = (error: unknown): void => log.debug('could not give memory back', { error: messageOf(error) });
      void look().catch(failed).finally(next);
    });
  next();
}
