/** Several sets at a time, each in a thread of its own. */
import { describe, expect, it } from '@jest/globals';
import { type Progress, type ReplayOptions, replay, type SettingsSet } from '../../../src/replay/replay.ts';
import type { ReplayResult } from '../../../src/replay/result.ts';
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
/** Its first ten minutes. */
const TRACE: Trace = {
  header: { ...SHORT_LIFE.header, seconds: 600 },
  events: () => [...(SHORT_LIFE.events() as readonly TraceEvent[])].filter(({ at }) => at < 600),
};
const WORLD = { ...DEFAULT_WORLD, seed: 7 };

const played = (options: Partial<ReplayOptions> = {}): Promise<ReplayResult> =>
  replay({ trace: TRACE, world: WORLD, sets: SETS, parallel: 2, ...options });

const untimed = ({ runs }: ReplayResult) => runs.map(({ took: _took, ...run }) => run);

describe('replay with several sets at a time', () => {
  it('leads to what playing one after the other leads to, and tells how far each is', async () => {
    const told = new Map<string, Progress>();
    const result = await played({ onProgress: (progress) => told.set(progress.set, progress) });
    expect(untimed(result)).toEqual(untimed(await played({ parallel: 1 })));
    expect(result.runs.map(({ name }) => name)).toEqual(['ours', 'compatible', 'again']);
    expect([...told.values()].map(({ set, index, sets, share }) => [set, index, sets, share]).sort()).toEqual([
      ['again', 2, 3, 1],
      ['compatible', 1, 3, 1],
      ['ours', 0, 3, 1],
    ]);
  });

  it('answers what there is when it is stopped, and begins no further set', async () => {
    const stop = new AbortController();
    const { runs } = await played({ signal: stop.signal, onProgress: () => stop.abort() });
    expect(runs.length).toBeLessThan(3);
    expect(runs.length).toBeGreaterThan(0);
    for (const { isComplete, playedSeconds } of runs) {
      expect(isComplete).toBe(false);
      expect(playedSeconds).toBeLessThan(600);
    }
  });

  it('reads traces that are larger than one portion', async () => {
    const scale = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'web' };
    const trace: Trace = {
      header: { ...SHORT_LIFE.header, seconds: 400 },
      *events() {
        const [first] = SHORT_LIFE.events() as never[];
        yield first as never;
        for (let at = 1; at < 1_200; at++) yield { at: at / 4, scale, replicas: 1 + (at % 3) };
      },
    };
    const result = await played({ trace, sets: SETS.slice(0, 2) });
    expect(untimed(result)).toEqual(untimed(await played({ trace, sets: SETS.slice(0, 2), parallel: 1 })));
  });

  it('fails with what the trace, or a set, cannot be read for', async () => {
    const broken: Trace = {
      header: SHORT_LIFE.header,
      // biome-ignore lint/correctness/useYield: it breaks off before the first event
      async *events() {
        throw new RangeError('week.jsonl, line 2: is no event');
      },
    };
    await expect(played({ trace: broken })).rejects.toThrow('week.jsonl, line 2: is no event');
    const bad = [setOf('good'), setOf('bad', '--no-such-flag=1')];
    await expect(played({ sets: bad })).rejects.toThrow(/no-such-flag/);
  });
});
