/** Export of spans to a collector over HTTP. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createMetrics, type Metrics } from '../../../../src/observe/metrics.ts';
import { openTracer } from '../../../../src/observe/traces/otlp.ts';
import { parseTracing } from '../../../../src/observe/traces/settings.ts';
import { type OtlpReceiver, otlpReceiver } from '../../../support/otlp-receiver.ts';
import { recordingLog } from '../../kube/fakes.ts';

let collector: OtlpReceiver;
let metrics: Metrics;
beforeEach(async () => {
  collector = await otlpReceiver();
  metrics = createMetrics();
});
afterEach(() => collector.close());

function open(env: Readonly<Record<string, string>> = {}) {
  const { tracing } = parseTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env });
  if (tracing === undefined) throw new Error('traces are off');
  const { log, lines } = recordingLog();
  const attributes = { 'k8s.cluster.name': 'demo' };
  const tracer = openTracer({ settings: tracing, attributes, version: '1.2.3', log, metrics });
  return { tracer, lines };
}

const counted = async (result: string): Promise<number> =>
  Number(new RegExp(`karpenter_traces_spans_total{result="${result}"} (\\d+)`).exec(await metrics.text())?.[1]);

describe('a span', () => {
  it('is exported with parent, times, attributes and failures when the tracer is closed', async () => {
    const { tracer } = open();
    const root = tracer.start('root', { atMs: 1_000_000, attributes: { name: 'a', absent: undefined } });
    const child = tracer.start('child', { atMs: 1_000_250, parent: root, isRequest: true });
    child.set({ count: 3, ratio: 0.5, sure: true });
    child.end(1_000_500, 'it broke');
    root.end(1_002_000);
    await tracer.close();
    const [first, second] = collector.spans;
    expect(first).toMatchObject({
      name: 'child',
      isRequest: true,
      startMs: 1_000_250,
      endMs: 1_000_500,
      attributes: { count: 3, ratio: 0.5, sure: true },
      failure: 'it broke',
      parentId: second?.spanId,
      traceId: second?.traceId,
    });
    expect(second).toMatchObject({ name: 'root', parentId: '', attributes: { name: 'a' }, failure: undefined });
    expect(second?.resource).toMatchObject({
      'service.name': 'karpenter',
      'service.version': '1.2.3',
      'k8s.cluster.name': 'demo',
    });
    expect(await counted('exported')).toBe(2);
  });

  it('ends no earlier than it began if the clock is set back', async () => {
    const { tracer } = open();
    tracer.start('root', { atMs: 5_000 }).end(4_000);
    await tracer.close();
    expect(collector.spans).toMatchObject([{ startMs: 5_000, endMs: 5_000 }]);
  });

  it('is sampled with the configured ratio, in complete traces', async () => {
    const { tracer } = open({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' });
    for (let at = 0; at < 200; at += 1) {
      const root = tracer.start('root', { atMs: 0 });
      tracer.start('child', { atMs: 0, parent: root }).end(1);
      root.end(1);
    }
    await tracer.close();
    const roots = collector.spans.filter(({ name }) => name === 'root');
    expect(roots.length).toBeGreaterThan(50);
    expect(roots.length).toBeLessThan(150);
    expect(collector.spans).toHaveLength(2 * roots.length);
  });

  it('is dropped and counted if the queue is full', async () => {
    collector.answer = 'nothing';
    const { tracer } = open({ OTEL_BSP_MAX_QUEUE_SIZE: '10', OTEL_EXPORTER_OTLP_TIMEOUT: '200' });
    for (let at = 0; at < 25; at += 1) tracer.start('root', { atMs: at }).end(at);
    expect(await counted('queue_full')).toBe(15);
    await tracer.close();
    expect(await counted('failed')).toBe(10);
  });

  it('is exported again if the collector is temporarily unavailable', async () => {
    collector.answer = 503;
    const { tracer, lines } = open();
    tracer.start('root', { atMs: 0 }).end(1);
    const closed = tracer.close();
    while (collector.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    collector.answer = 200;
    await closed;
    expect(collector.spans).toHaveLength(1);
    expect(lines).toEqual([]);
  });

  it('does not delay shutdown indefinitely', async () => {
    collector.answer = 'nothing';
    // the exporter would wait longer than the limit of this test
    const { tracer } = open({ OTEL_EXPORTER_OTLP_TIMEOUT: '3600000' });
    tracer.start('root', { atMs: 0 }).end(1);
    await tracer.close();
    expect(collector.spans).toEqual([]);
  });

  it('is logged without the response if a collector rejects it, because the response could contain a token', async () => {
    collector.answer = 401;
    const { tracer, lines } = open({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret-token' });
    tracer.start('root', { atMs: 0 }).end(1);
    await tracer.close();
    expect(lines).toMatchObject([
      {
        level: 'error',
        message: 'failed exporting traces',
        fields: { error: '401 Unauthorized', endpoint: `${collector.url}/v1/traces`, spans: 1 },
      },
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret-token');
  });
});
