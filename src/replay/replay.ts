/** Plays a trace against the operator in virtual time, once or in several lives for each set of settings. */

import { defined, withBoundedConcurrency } from '#lib';
import { LifeRuns } from './lives/life-runs.ts';
import type { ReplayOptions, SettingsSet } from './options.ts';
import type { ReplayResult, ReplayRun } from './result.ts';
import { collectEarly, replayMemory } from './threads/memory.ts';
import type { RunProgress } from './threads/protocol.ts';
import { runInThread } from './threads/run-in-thread.ts';
import { worldSummary } from './world-model/world-model.ts';

export type { ReplayOptions, ReplayProgress as Progress, SettingsSet } from './options.ts';

export type Replay = (options: ReplayOptions) => Promise<ReplayResult>;

/**
 * Plays the trace once for each set and life. The runs are independent of each other, and their worlds use the same
 * seed. Each run has its own thread with a limited heap. If several lives are played, a life that fails is played once more. If
 * it fails again, it is reported, and the other lives go on.
 * @throws Error if a run fails and no other life of its set succeeds
 */
export const replay: Replay = async (options) => {
  const { trace, world, sets, signal, onProgress, parallel = 1, memoryBytes, lives = 1 } = options;
  const planned = plannedRuns(sets, lives);
  const runs = new LifeRuns(sets, lives);
  const failed = new AbortController();
  const ended = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
  const atOnce = Math.min(parallel, planned.length);
  const memory = replayMemory(atOnce, memoryBytes);
  collectEarly();
  await withBoundedConcurrency([...planned.entries()], atOnce, async ([index, { set, life }]) => {
    if (ended.aborted) return;
    const place = { set: set.name, index, runs: planned.length, ...defined({ life }) };
    const progress = (now: RunProgress): void => onProgress?.({ ...place, ...now });
    const play = () => runInThread({ trace, world, set, life, signal: ended, onProgress: progress }, memory);
    try {
      const played = life === undefined ? { run: await play() } : await playAtMostTwice(play);
      runs.add(played.run);
      if (life !== undefined && played.failure !== undefined) runs.repeated(set, life, played.failure);
    } catch (error) {
      if (runs.failed(set, life, error)) return;
      // the result would be discarded, so the other runs can stop
      failed.abort();
      throw error;
    }
  });
  const { name, start, seconds, source } = trace.header;
  return {
    trace: { name, start, seconds, ...defined({ source }) },
    world: worldSummary(world),
    ...runs.result(),
  };
};

/** Plays a life again if it fails, for example because other processes used the memory. */
const playAtMostTwice = (
  play: () => Promise<ReplayRun>,
): Promise<{ readonly run: ReplayRun; readonly failure?: unknown }> =>
  play().then(
    (run) => ({ run }),
    async (failure: unknown) => ({ run: await play(), failure }),
  );

interface PlannedRun {
  readonly set: SettingsSet;
  /** Number of the life, from 1. Undefined if a single life is played. */
  readonly life: number | undefined;
}

/** Returns all runs, life by life, so that a replay that is stopped has the same lives of all sets. */
const plannedRuns = (sets: readonly SettingsSet[], lives: number): readonly PlannedRun[] =>
  Array.from({ length: lives }, (_, index) =>
    sets.map((set): PlannedRun => ({ set, life: lives === 1 ? undefined : index + 1 })),
  ).flat();
