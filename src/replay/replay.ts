/** Plays a trace against the operator in virtual time, once for each set of settings. */
import { defined } from '../api/defined.ts';
import type { Progress, ReplayOptions } from './options.ts';
import type { ReplayResult, ReplayRun } from './result.ts';
import { run } from './run.ts';
import { worldSummary } from './world-model/world-summary.ts';

export type { Progress, ReplayOptions, SettingsSet } from './options.ts';

export type Replay = (options: ReplayOptions) => Promise<ReplayResult>;

/** One run after the other, each in a world of its own that is made of the same seed. */
export const replay: Replay = async ({ trace, world, sets, signal, onProgress }) => {
  const runs: ReplayRun[] = [];
  for (const [index, set] of sets.entries()) {
    const progress = (now: Omit<Progress, 'set' | 'index' | 'sets'>): void =>
      onProgress?.({ set: set.name, index, sets: sets.length, ...now });
    runs.push(await run({ trace, world, set, signal, onProgress: progress }));
    if (signal?.aborted) break;
  }
  const { name, start, seconds, source } = trace.header;
  return {
    trace: { name, start, seconds, ...defined({ source }) },
    world: worldSummary(world),
    runs,
  };
};
