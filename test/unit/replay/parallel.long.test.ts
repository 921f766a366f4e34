/** Sets in worker threads, one or several at a time. */
import { describe, expect, it } from '@jest/globals';
import { type Progress, type ReplayOptions, replay, type SettingsSet } from '../../../src/replay/replay.ts';
import type { ReplayResult, ReplayRun } from '../../../src/replay/result.ts';
import { run } from '../../../src/replay/run.ts';
import type { Trace, TraceEvent } from '../../../src/replay/trace/trace.ts';
import { DEFAULT_WORLD } from '../../../src/replay/world-model/world-model.ts';
import { SHORT_LIFE, SHORT_LIFE_OBJECTS } from '../../support/short-life.ts';

const setOf = (name: string, ...args: string[]): SettingsSet => ({
  name,
  says: args,
  args,
  objects: SHORT_LIFE_OBJECTS,
});
const SETS = [setOf('ours'), setOf('compatible', '--packing=compatible'), setOf('again')];
/** The first five minutes of the trace. */
const SECONDS = 300;
/** Number of additional events. A thread receives at most 500 events at a time. */
const SCALINGS = 600;
const WEB = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'web' };
const TRACE: Trace = {
  header: { ...SHORT_LIFE.header, seconds: SECONDS },
  *events() {
    const [first, ...rest] = [...(SHORT_LIFE.events() as readonly TraceEvent[])].filter(({ at }) => at < SECONDS);
    if (first !== undefined) yield first;
    for (let at = 1; at < SCALINGS; at++) yield { at: at / 4, scale: WEB, replicas: 1 + (at % 3) };
    yield* rest;
  },
};
const WORLD = { ...DEFAULT_WORLD, seed: 7 };

const played = (options: Partial<ReplayOptions> = {}): Promise<ReplayResult> =>
  replay({ trace: TRACE, world: WORLD, sets: SETS, parallel: 2, ...options });

const untimed = (runs: readonly ReplayRun[]) => runs.map(({ took: _took, ...rest }) => rest);

/** Runs the sets in this thread, one after the other. */
async function playedHere(trace: Trace, sets: readonly SettingsSet[]): Promise<readonly ReplayRun[]> {
  const runs: ReplayRun[] = [];
  for (const set of sets)
    runs.push(await run({ trace, world: WORLD, set, signal: undefined, onProgress: () => undefined }));
  return runs;
}

describe('replay with several sets at a time', () => {
  it('returns the results of a sequential replay of a long trace, and reports the progress of each set', async () => {
    const told = new Map<string, Progress>();
    const result = await played({ onProgress: (progress) => told.set(progress.set, progress) });
    const [ours, compatible] = untimed(await playedHere(TRACE, SETS.slice(0, 2)));
    expect(untimed(result.runs)).toEqual([ours, compatible, { ...ours, name: 'again' }]);
    expect(result.runs.map(({ name }) => name)).toEqual(['ours', 'compatible', 'again']);
    expect([...told.values()].map(({ set, index, runs, share }) => [set, index, runs, share]).sort()).toEqual([
      ['again', 2, 3, 1],
      ['compatible', 1, 3, 1],
      ['ours', 0, 3, 1],
    ]);
  });

  it('returns partial results if it is stopped, and starts no further set', async () => {
    const stop = new AbortController();
    const { runs } = await played({ signal: stop.signal, onProgress: () => stop.abort() });
    expect(runs.length).toBeLessThan(3);
    expect(runs.length).toBeGreaterThan(0);
    for (const { isComplete, playedSeconds } of runs) {
      expect(isComplete).toBe(false);
      expect(playedSeconds).toBeLessThan(SECONDS);
    }
  });

  it('plays the same lives with each set, and compares them', async () => {
    const sets = [setOf('ours'), setOf('again')];
    const { runs, lives } = await played({ sets, lives: 2 });
    expect(runs.map(({ name, life }) => [name, life])).toEqual([
      ['ours', 1],
      ['again', 1],
    ]);
    const [ours, again] = lives?.sets ?? [];
    expect(lives).toMatchObject({ count: 2, failures: [] });
    expect(again?.lives).toEqual(ours?.lives);
    expect(ours?.lives[0]?.waitingPodHours).not.toBe(ours?.lives[1]?.waitingPodHours);
    expect(again?.difference).toMatchObject({
      pairs: 2,
      of: { usd: { mean: 0, interval: { low: 0, high: 0 }, isShown: false } },
    });
  });

  /** Trace that cannot be read at these times. */
  const failingAt = (failures: readonly number[]): Trace => {
    let reads = 0;
    return {
      ...TRACE,
      async *events() {
        reads += 1;
        if (failures.includes(reads)) throw new RangeError('week.jsonl was removed');
        yield* TRACE.events();
      },
    };
  };

  it('plays a life again if it fails, and leaves it out if it fails again', async () => {
    const failure = { set: 'ours', life: 2, message: 'week.jsonl was removed' };
    const livesOf = async (trace: Trace) => {
      const { runs, lives } = await played({ trace, sets: SETS.slice(0, 1), lives: 2, parallel: 1 });
      expect(runs.map(({ life }) => life)).toEqual([1]);
      return [lives?.sets[0]?.lives.map(({ life }) => life), lives?.failures, lives?.repeated];
    };
    expect(await livesOf(failingAt([2]))).toEqual([[1, 2], [], [failure]]);
    expect(await livesOf(failingAt([2, 3]))).toEqual([[1], [failure], []]);
  });

  it('reports how to allow more memory if the limit is exceeded', async () => {
    const memoryBytes = 256 * 2 ** 20;
    await expect(played({ sets: SETS.slice(0, 1), memoryBytes })).rejects.toThrow(
      /^set ours: it needs more than a heap of \d+ MiB; raise --memory, now 256Mi$/,
    );
    await expect(played({ memoryBytes })).rejects.toThrow(
      /^set (ours|compatible): .* --memory, now 256Mi, which 2 concurrent runs share; or reduce their number with --parallel 1$/,
    );
  });

  it('fails with the parse error of the trace or of a set', async () => {
    const broken: Trace = {
      header: SHORT_LIFE.header,
      // biome-ignore lint/correctness/useYield: it breaks off before the first event
      async *events() {
        throw new RangeError('week.jsonl, line 2: is no event');
      },
    };
    await expect(played({ trace: broken, sets: SETS.slice(0, 1) })).rejects.toThrow('week.jsonl, line 2: is no event');
    const bad = [setOf('good'), setOf('bad', '--no-such-flag=1')];
    await expect(played({ sets: bad })).rejects.toThrow(/no-such-flag/);
  });
});
