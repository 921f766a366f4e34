import { describe, expect, it } from '@jest/globals';
import { gauge } from '../../../src/observe/metrics/declaration.ts';
import { createMetrics } from '../../../src/observe/metrics.ts';
import { OwnedSeries } from '../../../src/observe/owned-series.ts';

const DECLARED = gauge<'name' | 'resource'>({ name: 'test_amount', help: 'An\namount', labels: ['name', 'resource'] });
const ODD = 'a "quoted" \\ name\nof two lines';

describe('a sample that is read during a scrape', () => {
  it('has the format of prom-client', async () => {
    const [held, read] = [createMetrics(), createMetrics()];
    const values = [0, 1.5, -2e21, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
    for (const [at, value] of values.entries())
      held.gauge(DECLARED).set({ name: `${ODD} ${at}`, resource: 'cpu' }, value);
    read.readAtScrape(DECLARED, () =>
      values.map((value, at) => ({ labels: { name: `${ODD} ${at}` }, own: { resource: 'cpu' }, value })),
    );
    for (const metrics of [held, read]) metrics.gauge(gauge({ name: 'test_next', help: 'Next' })).set(3);
    expect(await read.text()).toBe(await held.text());
  });

  it('keeps the header of its metric also if it is missing', async () => {
    const metrics = createMetrics();
    metrics.readAtScrape(DECLARED, () => []);
    expect(await metrics.text()).toBe('# HELP test_amount An\\namount\n# TYPE test_amount gauge\n');
  });

  it('is written in parts, and other work runs between the parts', async () => {
    const metrics = createMetrics();
    metrics.readAtScrape(DECLARED, () =>
      Array.from({ length: 1_050 }, (_, at) => ({ labels: { name: String(at), resource: '' }, value: at })),
    );
    const parts = await Array.fromAsync(metrics.parts());
    expect(parts.length).toBeGreaterThan(10);
    expect(parts.join('').match(/^test_amount\{/gm)).toHaveLength(1_050);
  });
});

describe('the group of series of an owner', () => {
  const lines = async (metrics: ReturnType<typeof createMetrics>): Promise<readonly string[]> =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith('test_amount{'));

  it('is replaced and removed together', async () => {
    const metrics = createMetrics();
    const series = new OwnedSeries(metrics, DECLARED);
    const sample = (name: string, resource: string, value: number) => ({ labels: { name }, own: { resource }, value });
    series.set('a', [sample('a', 'cpu', 1), sample('a', 'memory', 2)]);
    series.set('b', [sample('b', 'cpu', 3)]);
    series.set('a', [sample('a', 'cpu', 4)]);
    expect(await lines(metrics)).toEqual([
      'test_amount{name="a",resource="cpu"} 4',
      'test_amount{name="b",resource="cpu"} 3',
    ]);
    series.remove('a');
    series.set('b', []);
    expect(await lines(metrics)).toEqual([]);
  });

  it('keeps only the last of several series with equal labels, because duplicates make a scrape invalid', async () => {
    const metrics = createMetrics();
    const labels = { name: 'a' };
    new OwnedSeries(metrics, DECLARED).set('a', [
      { labels, own: { resource: 'example_com_x' }, value: 1 },
      { labels, own: { resource: 'example_com_x' }, value: 2 },
      { labels: { name: 'a', resource: 'whole' }, value: 3 },
      { labels: { name: 'a', resource: 'whole' }, value: 4 },
    ]);
    expect(await lines(metrics)).toEqual([
      'test_amount{name="a",resource="example_com_x"} 2',
      'test_amount{name="a",resource="whole"} 4',
    ]);
  });
});
