/** Runs of several lives while they end, in any order. */
import { describe, expect, it } from '@jest/globals';
import { LifeRuns } from '../../../../src/replay/lives/life-runs.ts';
import type { SettingsSet } from '../../../../src/replay/options.ts';
import type { ReplayRun } from '../../../../src/replay/result.ts';
import { sampleRun } from '../../cli/replay/results.ts';

const setOf = (name: string): SettingsSet => ({ name, says: [], args: [], objects: [] });
const [ONE, OTHER] = [setOf('one'), setOf('other')];
const runOf = ({ name }: SettingsSet, life: number, isComplete = true): ReplayRun => ({
  ...sampleRun(name, 1, { days: 1 }),
  life,
  isComplete,
});

describe('LifeRuns', () => {
  it('keeps the first life of each set in full, and the figures of all lives in order', () => {
    const runs = new LifeRuns([ONE, OTHER], 3);
    for (const life of [2, 3, 1]) for (const set of [OTHER, ONE]) runs.add(runOf(set, life));
    const result = runs.result();
    expect(result.runs.map(({ name, life }) => [name, life])).toEqual([
      ['one', 1],
      ['other', 1],
    ]);
    expect(result.lives?.sets.map(({ lives }) => lives.map(({ life }) => life))).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
  });

  it('reports a life that failed, and leaves the others', () => {
    const runs = new LifeRuns([ONE, OTHER], 2);
    for (const set of [ONE, OTHER]) runs.add(runOf(set, 2));
    runs.add(runOf(OTHER, 1));
    expect(runs.failed(ONE, 1, new Error('out of memory'))).toBe(true);
    const { runs: full, lives } = runs.result();
    expect(lives?.failures).toEqual([{ set: 'one', life: 1, message: 'out of memory' }]);
    expect(full.map(({ name, life }) => [name, life])).toEqual([
      ['one', 2],
      ['other', 1],
    ]);
    expect(lives?.sets[1]?.difference?.pairs).toBe(1);
  });

  it('fails if all lives of a set fail, or the only one', () => {
    const runs = new LifeRuns([ONE, OTHER], 2);
    expect(runs.failed(ONE, 2, new Error('no'))).toBe(true);
    expect(runs.failed(ONE, 1, new Error('no'))).toBe(false);
    expect(new LifeRuns([ONE], 1).failed(ONE, undefined, new Error('no'))).toBe(false);
  });

  it('leaves lives that were stopped out of the comparison, and prefers finished lives', () => {
    const runs = new LifeRuns([ONE], 2);
    runs.add(runOf(ONE, 1, false));
    runs.add(runOf(ONE, 2));
    const result = runs.result();
    expect(result.runs.map(({ life }) => life)).toEqual([2]);
    expect(result.lives?.sets[0]?.lives.map(({ life }) => life)).toEqual([2]);
  });

  it('has no comparison of a single life', () => {
    const runs = new LifeRuns([ONE], 1);
    runs.add(sampleRun('one', 1, { days: 1 }));
    expect(runs.result()).not.toHaveProperty('lives');
  });
});
