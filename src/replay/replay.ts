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
 * Plays the trace once for each set. The runs are independent of each other, and their worlds use the same seed. Each
 * run has its own thread with a limited heap.
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
      // the result would be discarded, so the other runs can stop
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
