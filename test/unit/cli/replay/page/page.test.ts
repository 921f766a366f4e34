/** The text of the page: required and forbidden content, and size. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { ReplayResult } from '#replay/run';
import { html, json } from '../../../../../src/cli/replay/page/html.ts';
import { logOf, pageOf } from '../../../../../src/cli/replay/page/page.ts';
import { timePlots, waitPlot } from '../../../../../src/cli/replay/page/plots.ts';
import { timeTicks, valueTicks, waitTicks } from '../../../../../src/cli/replay/page/scale.ts';
import { livesResult, sampleResult, stoppedResult } from '../results.ts';

const HOSTILE = `</script><img src=x onerror="alert('1')">\u0000&amp;`;

/** A result with harmful text in every user-defined name. */
function hostile(): ReplayResult {
  const { trace, world, runs } = sampleResult({ days: 1, events: 4, names: [HOSTILE, `${HOSTILE}2`] });
  return {
    trace: { ...trace, name: HOSTILE, source: HOSTILE },
    world: { ...world, region: HOSTILE, says: [HOSTILE] },
    runs: runs.map((run) => ({
      ...run,
      settings: [HOSTILE],
      cost: { ...run.cost, byNodePool: { [HOSTILE]: 1, ['__proto__']: 2 }, byCapacityType: { [HOSTILE]: 1 } },
      nodes: { ...run.nodes, byReason: { [HOSTILE]: 1 }, hoursByType: { [HOSTILE]: 1 } },
      log: run.log.map((event) => ({
        ...event,
        ...{ nodePool: HOSTILE, name: HOSTILE, instanceType: HOSTILE, zone: HOSTILE, capacityType: HOSTILE },
        reason: HOSTILE,
      })),
      complaints: [{ message: HOSTILE, count: 1, example: HOSTILE }],
    })),
  };
}

const only = (page: string, pattern: RegExp): string => {
  const found = [...page.matchAll(pattern)];
  expect(found).toHaveLength(1);
  return found[0]?.[1] ?? '';
};
const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`;

describe('the page', () => {
  it('loads no external resources, and allows only its own style and script', () => {
    const page = pageOf(sampleResult());
    const policy = only(page, /http-equiv="Content-Security-Policy" content="([^"]*)"/g).replaceAll('&#39;', "'");
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).toContain(`style-src '${hashOf(only(page, /<style>([\s\S]*?)<\/style>/g))}'`);
    expect(policy).toContain(`script-src '${hashOf(only(page, /<script type="module">([\s\S]*?)<\/script>/g))}'`);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(page).not.toMatch(/https?:\/\//);
    expect([...page.matchAll(/\s(?:src|href|style|on\w+)="([^"]*)"/g)].map(([, value]) => value)).toEqual([
      'data:,',
      '#main',
    ]);
  });

  it('escapes names with any content', () => {
    const page = pageOf(hostile());
    expect(page).not.toContain('<img');
    expect(page).not.toContain('onerror="');
    expect(page).not.toContain('\u0000');
    expect(page.match(/<\/script>/g)).toHaveLength(2);
    expect(page).toContain('&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;\ufffd&amp;amp;');
    const data = JSON.parse(only(page, /<script type="application\/json" id="data">([\s\S]*?)<\/script>/g));
    expect(data.runs[0]).toBe(HOSTILE);
    expect(data.log.words).toContain(HOSTILE);
  });

  it('is smaller than a megabyte for a month of six runs', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const page = pageOf(sampleResult({ days: 30, stepSeconds: 60, events: 6_000, names }));
    expect(Buffer.byteLength(page)).toBeLessThan(1e6);
    expect(page).toContain('32,004 later events are not on this page');
  });

  it('is smaller than a megabyte for many runs', () => {
    const names = Array.from({ length: 24 }, (_, index) => `run-${index}`);
    expect(Buffer.byteLength(pageOf(sampleResult({ names, stepSeconds: 60, events: 500 })))).toBeLessThan(1e6);
  });

  it('marks an unfinished run wherever it appears', () => {
    const page = pageOf(stoppedResult());
    // card, legend, figures, settings
    expect(page.match(/ours <span class="mark">incomplete<\/span>/g)).toHaveLength(4);
    expect(page).toContain('<p class="warning" role="note">ours is incomplete: it was stopped after 2 d 8 h of 7 d');
    expect(pageOf(sampleResult())).not.toContain('class="mark"');
  });

  it('compares several lives in a table, and in the cards', () => {
    const page = pageOf(livesResult());
    expect(page).toContain('Means of 8 lives');
    expect(page).toMatch(/<th scope="row">cost<\/th>.*<td class="run-1">−11\.8 % \(−12\.2 % to −11\.5 %\)<\/td>/);
    expect(page).toMatch(/<th scope="row">evictions<\/th>.*<td class="run-1">no difference shown: /);
    expect(page).toMatch(/<span class="badge less">−11\.8 %<\/span>/);
    expect(page).toContain('<dt>Nodes launched</dt>');
    expect(pageOf(sampleResult())).not.toContain('Means of');
  });

  it('has selectors only for several runs', () => {
    expect(pageOf(sampleResult())).toContain('<legend>Runs shown</legend>');
    expect(pageOf(sampleResult({ names: ['alone'] }))).not.toContain('<legend>');
  });

  it('supports results without nodes, pods and runs', () => {
    const { runs, ...result } = sampleResult({ days: 1, events: 0 });
    const idle = runs.map((run) => ({ ...run, waiting: { ...run.waiting, pods: 0, upTo: [] } }));
    const page = pageOf({ ...result, runs: idle });
    expect(page).toContain('No node was launched.');
    expect(page).not.toContain('id="waits"');
    expect(pageOf({ ...result, runs: [] })).toContain('No run was replayed.');
  });

  it('has a table of values for every plot', () => {
    const page = pageOf(sampleResult());
    expect(page.match(/<summary>In figures<\/summary>/g)).toHaveLength(8);
    expect(page).toMatch(
      /<svg viewBox="0 0 640 240" role="img" aria-label="USD per hour over time\. compatible: \$[\d.]+ to \$[\d.]+; ours: /,
    );
  });
});

describe('markup', () => {
  it('escapes values, but not nested templates', () => {
    expect(html`<b title="${'"'}">${'<i>'}${html`<u>${1}</u>`}${['&', undefined]}</b>`.text).toBe(
      '<b title="&quot;">&lt;i&gt;<u>1</u>&amp;</b>',
    );
  });

  it('has JSON that cannot close a script element', () => {
    const value = { text: '</script><!--\u2028' };
    expect(json(value).text).toBe('{"text":"\\u003c/script\\u003e\\u003c!--\\u2028"}');
    expect(JSON.parse(json(value).text)).toEqual(value);
  });
});

describe('an axis', () => {
  it.each([
    [0, [0, 1]],
    [4.04, [0, 1, 2, 3, 4, 5]],
    [0.3, [0, 0.1, 0.2, 0.3]],
    [1_000, [0, 200, 400, 600, 800, 1_000]],
    [40, [0, 10, 20, 30, 40]],
  ])('has, up to %p, %j', (most, ticks) => {
    expect(valueTicks(most)).toEqual(ticks);
  });

  it('counts in integers', () => {
    expect(valueTicks(1, true)).toEqual([0, 1]);
    expect(valueTicks(3, true)).toEqual([0, 1, 2, 3]);
    expect(valueTicks(12, true)).toEqual([0, 5, 10, 15]);
    expect(valueTicks(1)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  });

  it.each([
    ['an hour', 3_600, ['14:10', '14:20', '14:30', '14:40', '14:50', '15:00']],
    ['a day', 86_400, ['15:00', '18:00', '21:00', 'Mon 2 Mar', '03:00', '06:00', '09:00', '12:00']],
    ['a week', 604_800, ['Mon 2 Mar', 'Tue 3 Mar', 'Wed 4 Mar', 'Thu 5 Mar', 'Fri 6 Mar', 'Sat 7 Mar', 'Sun 8 Mar']],
    ['a month', 30 * 86_400, ['2 Mar', '9 Mar', '16 Mar', '23 Mar', '30 Mar']],
  ])('has full hours, days or Mondays for %s', (_, seconds, labels) => {
    expect(timeTicks(Date.parse('2026-03-01T14:07:00Z'), seconds).map(({ label }) => label)).toEqual(labels);
  });

  it('ends beyond the longest pending time', () => {
    expect(waitTicks(70).map(({ label }) => label)).toEqual(['1 s', '3 s', '10 s', '30 s', '1 min', '2 min']);
    expect(waitTicks(0).map(({ label }) => label)).toEqual(['1 s', '3 s', '10 s']);
    expect(waitTicks(1e9).at(-1)?.label).toBe('7 d');
  });
});

describe('a plot', () => {
  it('has at most 600 points per line, each for the same duration', () => {
    const { plots, stepSeconds } = timePlots(sampleResult({ days: 30, stepSeconds: 60 }));
    expect(stepSeconds).toBe(72 * 60);
    expect(Math.max(...plots.flatMap(({ lines }) => lines.map(({ values }) => values.length)))).toBe(600);
    expect(plots.find(({ id }) => id === 'waiting')?.lines[0]?.values).toContain(6);
  });

  it('ends at the end of the run', () => {
    const [rate] = timePlots(stoppedResult()).plots;
    expect(rate?.lines.map(({ values }) => values.length)).toEqual([504, 168]);
  });

  it('accumulates spending', () => {
    const result = sampleResult();
    const spent = timePlots(result)
      .plots.find(({ id }) => id === 'spent')
      ?.lines[0]?.values.at(-1);
    expect(spent).toBeCloseTo(result.runs[0]?.cost.effectiveUsd ?? 0, -1);
  });

  it('uses the distribution of pending times, or four values', () => {
    const known = waitPlot(sampleResult());
    expect(known?.seconds).toEqual([1, 5, 10, 30, 60, 120, 300, 1_234]);
    expect(known?.plot.lines[0]?.values.at(-1)).toBe(1);
    const { runs, ...result } = sampleResult({ names: ['a'] });
    const few = runs.map(({ waiting: { upTo: _, ...waiting }, ...run }) => ({ ...run, waiting }));
    const plot = waitPlot({ ...result, runs: few });
    expect(plot?.seconds).toEqual([38.2, 71, 140, 1_234]);
    expect(plot?.plot.lines[0]?.values).toEqual([0.5, 0.95, 0.99, 1]);
  });
});

it('contains in its log the first events of each run up to its size, in order of time', () => {
  const { entries, total, words } = logOf(sampleResult({ events: 3_000 }).runs);
  expect({ entries: entries.length, total }).toEqual({ entries: 4_000, total: 6_000 });
  expect(entries.filter(([, run]) => run === 1)).toHaveLength(2_000);
  expect(entries.map(([at]) => at)).toEqual(entries.map(([at]) => at).sort((a, b) => a - b));
  expect(words).toContain('given back');
});
