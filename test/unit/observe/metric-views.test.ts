/** The default view of a metric according to its declaration. */
import { describe, expect, it } from '@jest/globals';
import { seriesBudget } from '../../../src/observe/metric-views.ts';
import { counter, gauge, histogram } from '../../../src/observe/metrics/declaration.ts';
import { createMetrics } from '../../../src/observe/metrics.ts';
import { OwnedSeries } from '../../../src/observe/owned-series.ts';

const LABELS = ['node', 'pool', 'resource'] as const;
const PLAIN = gauge({ name: 'test_plain', help: 'Plain', labels: LABELS });
const SUMMED = gauge({ name: 'test_sum', help: 'Summed', labels: LABELS, share: { kind: 'sum', over: ['node'] } });
const LARGEST = gauge({ name: 'test_max', help: 'Largest', labels: LABELS, share: { kind: 'max', over: ['node'] } });
const ABSENT = counter({ name: 'test_absent_total', help: 'Absent', labels: [], share: { kind: 'none' } });
const TIMES = histogram({
  name: 'test_seconds',
  help: 'Times',
  buckets: [1, 2, 4, 8],
  share: { kind: 'buckets', buckets: [2, 8] },
});

type View = Parameters<typeof createMetrics>[0];

const linesOf = async (fill: (metrics: ReturnType<typeof createMetrics>) => void, view: View = { view: 'budget' }) => {
  const metrics = createMetrics(view);
  fill(metrics);
  return (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
};

const measured = (declaration: typeof PLAIN) => (metrics: ReturnType<typeof createMetrics>) => {
  const series = new OwnedSeries(metrics, declaration);
  const of = (node: string, pool: string, cpu: number, disk: number) => {
    const labels = { node, pool };
    series.set(node, [
      { labels, own: { resource: 'cpu' }, value: cpu },
      { labels, own: { resource: 'disk' }, value: disk, isDetail: true },
    ]);
  };
  of('a', 'web', 1, 10);
  of('b', 'web', 4, 20);
  of('c', '', 3, 30);
};

describe('the default view', () => {
  it('omits detailed series, and labels without a value', async () => {
    expect(await linesOf(measured(PLAIN))).toEqual([
      'test_plain{node="a",pool="web",resource="cpu"} 1',
      'test_plain{node="b",pool="web",resource="cpu"} 4',
      'test_plain{node="c",resource="cpu"} 3',
    ]);
  });

  it('aggregates over labels by sum or by maximum', async () => {
    expect(await linesOf(measured(SUMMED))).toEqual([
      'test_sum{pool="web",resource="cpu"} 5',
      'test_sum{resource="cpu"} 3',
    ]);
    expect(await linesOf(measured(LARGEST))).toEqual([
      'test_max{pool="web",resource="cpu"} 4',
      'test_max{resource="cpu"} 3',
    ]);
  });

  it('does not merge series that have equal values of different labels', async () => {
    const lines = await linesOf((metrics) => {
      metrics.gauge(SUMMED).set({ node: 'a', pool: 'x' }, 1);
      metrics.gauge(SUMMED).set({ node: 'a', resource: 'x' }, 2);
    });
    expect(lines).toEqual(['test_sum{pool="x"} 1', 'test_sum{resource="x"} 2']);
  });

  it('serves some buckets of a histogram, with cumulative counts', async () => {
    const lines = await linesOf((metrics) => {
      for (const seconds of [0.5, 1.5, 3, 100]) metrics.histogram(TIMES).observe(seconds);
    });
    expect(lines).toEqual([
      'test_seconds_bucket{le="2"} 2',
      'test_seconds_bucket{le="8"} 3',
      'test_seconds_bucket{le="+Inf"} 4',
      'test_seconds_sum 105',
      'test_seconds_count 4',
    ]);
  });

  it('does not mention omitted metrics', async () => {
    const metrics = createMetrics({ view: 'budget' });
    metrics.counter(ABSENT).inc();
    expect(await metrics.text()).toBe('');
    expect((await metrics.state(ABSENT.name))?.name).toBe(ABSENT.name);
  });
});

describe('the Karpenter view', () => {
  it('serves all metrics, and labels without a value', async () => {
    const all = { view: 'karpenter' } as const;
    expect(await linesOf(measured(SUMMED), all)).toContain('test_sum{node="c",pool="",resource="disk"} 30');
    expect(await linesOf((metrics) => metrics.counter(ABSENT).inc(), all)).toEqual(['test_absent_total 1']);
    const buckets = await linesOf((metrics) => metrics.histogram(TIMES).observe(1), all);
    expect(buckets).toHaveLength(7);
  });
});

describe('the series budget', () => {
  const SMALL = { nodes: 3, nodePools: 1 };
  const watched = async (view: View, series: number) => {
    const metrics = createMetrics(view);
    const seen: { readonly series: number; readonly budget: number | undefined }[] = [];
    metrics.watchSeries({ size: () => SMALL, scraped: (count) => seen.push(count) });
    for (let index = 0; index < series; index++) metrics.gauge(PLAIN).set({ node: String(index) }, 1);
    return { text: await metrics.text(), seen };
  };

  it('allows 3,000 series at 3 nodes and 20,000 at 1,000', () => {
    expect(seriesBudget(SMALL)).toBeLessThanOrEqual(3_000);
    expect(seriesBudget({ nodes: 1_000, nodePools: 1 })).toBeLessThanOrEqual(20_000);
  });

  it('is served with the number of series, and does not drop series', async () => {
    const { text, seen } = await watched({ view: 'budget' }, 4_000);
    expect(text.match(/^test_plain\{/gm)).toHaveLength(4_000);
    expect(text).toContain('\nkarpenter_metrics_series 4002\n');
    expect(text).toContain(`\nkarpenter_metrics_series_budget ${seriesBudget(SMALL)}\n`);
    expect(seen).toMatchObject([{ series: 4_002, budget: seriesBudget(SMALL) }]);
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toHaveLength(4_002);
  });

  it('does not exist in the Karpenter view', async () => {
    const { text, seen } = await watched({ view: 'karpenter' }, 10);
    expect(text).toContain('\nkarpenter_metrics_series 11\n');
    expect(text).not.toContain('karpenter_metrics_series_budget');
    expect(seen).toMatchObject([{ series: 11, budget: undefined }]);
  });
});
