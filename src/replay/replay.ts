/** Plays a trace against the operator in virtual time, once for each set of settings. */

import { withBoundedConcurrency } from '../lib/bounded-concurrency.ts';
import { defined } from '../lib/defined.ts';
import type { ReplayOptions } from './options.ts';
import type { ReplayResult, ReplayRun } from './result.ts';
import { collectEarly, replayMemory } from './threads/memory.ts';
import type { RunProgress } from './threads/protocol.ts';
import { runInThread } from './threads/run-in-thread.ts';
import { worldSummary } from './world-model/world-summary.ts';

export type { ReplayOptions, ReplayProgress as Progress, SettingsSet } from './options.ts';

export type Replay = (options: ReplayOptions) => Promise<ReplayResult>;

/**
 * Runs of the same trace, each in a world of its own that is made of the same seed; they do not depend on each other.
 * Each has a thread of its own, whose heap has a limit.
 */
export const replay: Replay = async ({ trace, world, sets, signal, onProgress, parallel = 1, memoryBytes }) => {
  const runs: (ReplayRun | undefined)[] = [];
  const failed = new AbortController();
  const ended = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
  const atOnce = Math.min(parallel, sets.length);
  const memory = replayMemory(atOnce, memoryBytes);
  collectEarly();
  await withBoundedConcurrency([...sets.entries()], atOnce, async ([index, set]) => {
    if (ended.aborted) return;
    const progress = (now: RunProgress): void => onProgress?.({ set: set.name, index, sets: sets.length, ...now });
    try {
      runs[index] = await runInThread({ trace, world, set, signal: ended, onProgress: progress }, memory);
    } catch (error) {
      // the others would be played in vain
      failed.abort();
      throw error;
    }
  });
  const { name, start, seconds, source } = trace.header;
  return {
    trace: { name, start, seconds, ...defined({ source }) },
    world: worldSummary(world),
    runs: runs.filter((each) => each !== undefined),
  };
};
