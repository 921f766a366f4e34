/** Tests of the pages with every series of a metric. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { silent } from '#observe/logger';
import { PODS_STATE, SCHEDULER_SCHEDULING_DURATION_SECONDS } from '#observe/metrics';
import { createMetrics } from '#observe/setup';
import { type Endpoints, serveEndpoints } from '../../../src/process/health.ts';
import { metricPage, PAGE } from '../../../src/process/metric-pages.ts';

let endpoints: Endpoints | undefined;
afterEach(() => endpoints?.close());

async function start(pods: number) {
  const metrics = createMetrics({ view: 'budget' });
  const names = Array.from({ length: pods }, (_, index) => `pod-${index}`);
  metrics.readAtScrape(PODS_STATE, () => names.map((name) => ({ labels: { name, phase: 'Running' }, value: 1 })));
  metrics.histogram(SCHEDULER_SCHEDULING_DURATION_SECONDS).observe({ controller: 'provisioner' }, 0.2);
  endpoints = await serveEndpoints({
    metricsPort: 0,
    healthProbePort: 0,
    host: '127.0.0.1',
    metrics,
    profiling: false,
    ready: {},
    debug: { '/debug/metrics': { page: (query) => metricPage(metrics, query) } },
    log: silent,
  });
  const url = `http://127.0.0.1:${endpoints.metricsPort}`;
  return async (path: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`${url}${path}`);
    return { status: response.status, text: await response.text() };
  };
}

describe('/debug/metrics', () => {
  it('lists the metrics with their number of series and their share in the default view', async () => {
    const get = await start(3);
    const listed = JSON.parse((await get('/debug/metrics')).text);
    expect(listed).toContainEqual({
      name: 'karpenter_pods_state',
      type: 'gauge',
      help: PODS_STATE.help,
      share: { kind: 'sum', over: ['name', 'namespace', 'owner', 'node'] },
      series: 3,
    });
  });

  it('shows every series of a metric, page by page', async () => {
    const get = await start(2 * PAGE + 5);
    const seen: string[] = [];
    let pages = 0;
    for (let path: string | undefined = '/debug/metrics?name=karpenter_pods_state'; path !== undefined; pages++) {
      const page: { series: { labels: { name: string } }[]; next?: string } = JSON.parse((await get(path)).text);
      seen.push(...page.series.map(({ labels }) => labels.name));
      path = page.next;
    }
    expect(pages).toBe(3);
    expect(new Set(seen).size).toBe(2 * PAGE + 5);
    expect((await get('/metrics')).text).toContain(`karpenter_pods_state{phase="Running"} ${2 * PAGE + 5}`);
  });

  it('ends with a full page if there are no further series', async () => {
    const get = await start(PAGE);
    const page = JSON.parse((await get('/debug/metrics?name=karpenter_pods_state')).text);
    expect(page.series).toHaveLength(PAGE);
    expect(page.next).toBeUndefined();
  });

  it('includes all buckets of a histogram', async () => {
    const get = await start(0);
    const { series } = JSON.parse(
      (await get(`/debug/metrics?name=${SCHEDULER_SCHEDULING_DURATION_SECONDS.name}`)).text,
    );
    expect(series).toHaveLength(SCHEDULER_SCHEDULING_DURATION_SECONDS.buckets.length + 3);
    expect(series).toContainEqual({
      name: 'karpenter_scheduler_scheduling_duration_seconds_bucket',
      labels: { le: '+Inf', controller: 'provisioner' },
      value: 1,
    });
  });

  it.each([
    ['name=karpenter_pod_state', 'name: unknown metric "karpenter_pod_state", did you mean karpenter_pods_state?\n'],
    ['name=x', 'name: unknown metric "x", see /debug/metrics for all metrics\n'],
    ['name=karpenter_pods_state&offset=-1', 'offset: "-1" is not a number of series, for example 1000\n'],
  ])('returns 400 for ?%s', async (query, text) => {
    const get = await start(1);
    expect(await get(`/debug/metrics?${query}`)).toEqual({ status: 400, text });
  });
});
