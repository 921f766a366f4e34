/** Output of a replay on a terminal: sentences, figures, progress. */
import { describe, expect, it } from '@jest/globals';
import type { ReplayResult, ReplayRun } from '#replay/run';
import { sparkline } from '../../../../src/cli/render/cost.ts';
import { sentences, unfinishedSentences } from '../../../../src/cli/replay/compare.ts';
import { downsample, rowsPerPoint } from '../../../../src/cli/replay/downsample.ts';
import { progressLine } from '../../../../src/cli/replay/progress.ts';
import { summaryText } from '../../../../src/cli/replay/summary.ts';
import { amount, dollars, signedPercent, spanText } from '../../../../src/cli/replay/units.ts';
import { livesResult, sampleResult, sampleRun, stoppedResult } from './results.ts';

const PLAIN = { width: 80, isStyled: false };

const withRuns = (...changes: readonly (Partial<ReplayRun> & { readonly usd?: number })[]): ReplayResult => ({
  ...sampleResult(),
  runs: changes.map(({ usd = 100, ...change }, index) => {
    const run = sampleRun(`run-${index}`, 1, { days: 1 });
    return { ...run, cost: { ...run.cost, effectiveUsd: usd }, evictions: 10, ...change };
  }),
});
const waiting = (p95: number) => ({ waiting: { ...sampleRun('a', 1, { days: 1 }).waiting, p95 } });

describe('a sentence', () => {
  it.each([
    [{ usd: 87.7, evictions: 14 }, 'run-1 costs 12.3 % less than run-0 and evicts 1.4 times as many pods.'],
    [{ usd: 104, evictions: 10 }, 'run-1 costs 4.0 % more than run-0 and evicts as many pods.'],
    [{ usd: 100.01, evictions: 0 }, 'run-1 costs the same as run-0 and evicts no pods.'],
    [{ usd: 50, evictions: 120 }, 'run-1 costs 50.0 % less than run-0 and evicts 12 times as many pods.'],
    [
      { usd: 50, evictions: 10, ...waiting(150) },
      'run-1 costs 50.0 % less than run-0, evicts as many pods and 95 % of its pods wait at most 2 min 30 s instead of 1 min 11 s.',
    ],
  ])('compares %j', (change, sentence) => {
    expect(sentences(withRuns(waiting(71), { ...waiting(71), ...change }))).toEqual([sentence]);
  });

  it('mentions evictions even if there are none', () => {
    expect(sentences(withRuns({ evictions: 0 }, { evictions: 1 }))[0]).toMatch(/evicts 1 pod instead of none\.$/);
    expect(sentences(withRuns({ evictions: 0 }, { evictions: 0 }))[0]).toMatch(/evicts no pods either\.$/);
    expect(sentences(withRuns({ evictions: 100 }, { evictions: 102 }))[0]).toMatch(/evicts about as many pods\.$/);
  });

  it('does not compare with zero costs', () => {
    expect(sentences(withRuns({ usd: 0 }, { usd: 1 }))[0]).toMatch(/^run-1 costs money, unlike run-0/);
    expect(sentences(withRuns({ usd: 0 }, { usd: 0 }))[0]).toMatch(/^run-1 costs \$0, as run-0 does/);
  });

  it('does not compare runs of different lengths', () => {
    expect(sentences(stoppedResult())).toEqual([
      'ours and compatible cannot be compared, because they cover 2 d 8 h and 7 d of the trace.',
      'ours is incomplete: it was stopped after 2 d 8 h of 7 d, and its figures cover only this time.',
    ]);
  });

  it('reports failed Jobs if their missing work makes costs differ', () => {
    const unlike = withRuns({}, { failedJobs: { jobs: 300, pods: 1_986 } });
    expect(sentences(unlike)).toEqual([
      'run-1 costs the same as run-0 and evicts as many pods.',
      'Failed Jobs left pods that never succeeded, and costs do not include their work: run-0 7, run-1 1,986.',
    ]);
    expect(sentences(livesResult({ unfinishedPods: 12 }))[1]).toBe(
      'Failed Jobs left pods that never succeeded, and costs do not include their work: compatible 7, ours 12.',
    );
  });

  it('reports that nothing was played', () => {
    expect(sentences({ ...sampleResult(), runs: [] })).toEqual(['No run was replayed.']);
  });
});

describe('the summary', () => {
  it('has figures side by side, and their course over time', () => {
    expect(summaryText(sampleResult(), PLAIN)).toMatchSnapshot();
  });

  it('marks an unfinished run', () => {
    const text = summaryText(stoppedResult(), PLAIN);
    expect(text).toMatch(/^ +UNFINISHED$/m);
    expect(text).toMatch(/^ {2}difference +– +–$/m);
  });

  it.each([40, 80, 120])('fits %i columns with any number of runs', (width) => {
    const names = ['a', 'the-second-run-with-a-long-name', 'c', 'd', 'e', 'f'];
    const text = summaryText(sampleResult({ names, days: 2 }), { width, isStyled: false });
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(width);
    for (const name of names) expect(text).toContain(name.slice(0, 8));
  });

  it('indents entries of several lines', () => {
    const settings = [
      '--packing=compatible',
      '--consolidation=compatible',
      '--node-hourly-fee=0',
      '--batch-idle-duration=5s',
    ];
    expect(summaryText(withRuns({ settings }), PLAIN)).toContain(
      '\n  run-0: --packing=compatible; --consolidation=compatible;\n    --node-hourly-fee=0; --batch-idle-duration=5s\n',
    );
  });

  it('has styles only in a terminal', () => {
    expect(summaryText(sampleResult(), PLAIN)).not.toContain('\u001b');
    expect(summaryText(sampleResult(), { ...PLAIN, isStyled: true })).toContain('\u001b[1m');
  });

  it('supports results without series and runs', () => {
    expect(summaryText({ ...sampleResult(), runs: [] }, PLAIN)).toMatch(/No run was replayed\.\n$/);
  });
});

describe('the summary of several lives', () => {
  it('has means and differences before the figures of one life', () => {
    const text = summaryText(livesResult(), PLAIN);
    expect(text.slice(0, text.indexOf('COST'))).toMatchSnapshot();
  });

  it('reports lives that failed or were stopped', () => {
    const { lives, ...result } = livesResult();
    if (lives === undefined) throw new Error('there are lives');
    const failures = [{ set: 'ours', life: 9, message: 'its worker exited' }];
    const repeated = [{ set: 'ours', life: 2, message: 'short of memory' }];
    expect(unfinishedSentences({ ...result, lives: { ...lives, count: 9, failures, repeated } })).toEqual([
      'compatible is unfinished: 8 of 9 lives were played to the end.',
      'Life 9 of ours failed twice: its worker exited',
      'Life 2 of ours was played again, because it failed: short of memory',
    ]);
  });

  it('compares no sets without a life in common', () => {
    const { lives, ...result } = livesResult();
    const alone = {
      ...result,
      lives: {
        count: 1,
        failures: [],
        repeated: [],
        sets: (lives?.sets ?? []).map(({ name }) => ({ name, lives: [] })),
      },
    };
    expect(sentences(alone)[0]).toBe('ours and compatible cannot be compared: they finished no life in common.');
    expect(summaryText(alone, PLAIN)).toMatch(/^ {2}evictions +– +–$/m);
  });

  it.each([40, 120])('fits %i columns', (width) => {
    const text = summaryText(livesResult(), { width, isStyled: false });
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(width);
  });
});

describe('a series', () => {
  it('is drawn from 0 to the maximum', () => {
    expect(sparkline([0, 1, 2, 3.5, 7, 9], 7)).toBe('▁▂▃▅██');
    expect(sparkline([0, 0], 0)).toBe('▁▁');
  });

  it('is downsampled by mean or maximum', () => {
    expect(rowsPerPoint(5, 2)).toBe(3);
    expect(rowsPerPoint(5, 10)).toBe(1);
    expect(downsample([1, 2, 3, 10, 20], 3)).toEqual([2, 15]);
    expect(downsample([1, 2, 3, 10, 20], 3, 'most')).toEqual([3, 20]);
    expect(downsample([1, 2], 1)).toEqual([1, 2]);
  });
});

describe('a text', () => {
  it.each([
    [0, '0 s'],
    [0.44, '0.4 s'],
    [42.4, '42 s'],
    [60, '1 min'],
    [200, '3 min 20 s'],
    [3_599.9, '1 h'],
    [3_900, '1 h 5 min'],
    [86_399, '1 d'],
    [183_600, '2 d 3 h'],
  ])('formats %p s as %j', (seconds, text) => {
    expect(spanText(seconds)).toBe(text);
  });

  it('formats amounts with significant digits', () => {
    expect([0, 1_234, 12.345, 0.4567].map(amount)).toEqual(['0', '1,234', '12.3', '0.46']);
    expect([0, 0.0034, 1_234.5, -3].map(dollars)).toEqual(['$0.00', '$0.0034', '$1,234.50', '−$3.00']);
    expect([0.123, -0.04, 0.0001].map(signedPercent)).toEqual(['+12.3 %', '−4.0 %', '±0.0 %']);
  });
});

describe('the line of progress', () => {
  const START = Date.parse('2026-03-02T00:00:00Z');
  const progress = (share: number, index = 0) => ({
    ...{ set: index === 0 ? 'compatible' : 'ours', index, runs: 2, share, nodes: 12, pods: 345, usd: 67.891 },
  });
  function shown(isTTY: boolean, at: readonly (readonly [ms: number, share: number, index?: number])[]) {
    const written: string[] = [];
    let nowMs = 0;
    const line = progressLine({
      startMs: START,
      seconds: 86_400,
      output: { isTTY, columns: 100, write: (text) => written.push(text) },
      nowMs: () => nowMs,
    });
    for (const [ms, share, index] of at) {
      nowMs = ms;
      line.at(progress(share, index));
    }
    line.done();
    return written;
  }

  it('is updated in a terminal, and cleared', () => {
    expect(
      shown(true, [
        [0, 0],
        [50, 0.1],
        [10_000, 0.5],
      ]),
    ).toEqual([
      '\r\u001b[2K[----------------] compatible (1/2) 0 % 2026-03-02 00:00 12 nodes 345 pods $67.89',
      '\r\u001b[2K[########--------] compatible (1/2) 50 % 2026-03-02 12:00 12 nodes 345 pods $67.89, 30 s left',
      '\r\u001b[2K',
    ]);
  });

  it('is a plain line for every tenth in a pipe', () => {
    const steps = [0, 0.05, 0.11, 0.19, 0.2].map((share) => [0, share] as const);
    expect(shown(false, [...steps, [0, 0.2, 1]])).toEqual([
      'compatible (1/2) 0 % 2026-03-02 00:00 12 nodes 345 pods $67.89\n',
      expect.stringMatching(/^compatible \(1\/2\) 11 %/),
      expect.stringMatching(/^compatible \(1\/2\) 20 %/),
      expect.stringMatching(/^ours \(2\/2\) 20 %/),
    ]);
  });

  it('is that of the slowest of parallel sets', () => {
    const steps = [
      [0, 0, 0],
      [1000, 0.3, 1],
      [2000, 0.1, 0],
      [3000, 0.4, 1],
      [4000, 1, 0],
      [5000, 0.5, 1],
    ] as const;
    expect(shown(true, steps).map((line) => /(compatible|ours) .*? %/.exec(line)?.[0])).toEqual([
      'compatible (1/2) 0 %',
      'compatible (1/2) 10 %',
      'ours (2/2) 50 %',
      undefined,
    ]);
    // Both together: three quarters in five seconds.
    expect(shown(true, steps).at(-2)).toMatch(/, 1\.7 s left$/);
    expect(shown(false, [...steps, [6000, 0.55, 1]]).map((line) => /^\w+/.exec(line)?.[0])).toEqual([
      'compatible',
      'ours',
      'compatible',
      'ours',
      'compatible',
      'ours',
    ]);
  });

  it('fits the terminal', () => {
    const written: string[] = [];
    const output = { isTTY: true, columns: 40, write: (text: string) => written.push(text) };
    progressLine({ startMs: START, seconds: 60, output, nowMs: () => 0 }).at(progress(0.5));
    expect(written[0]?.replace('\r\u001b[2K', '')).toHaveLength(39);
  });
});
