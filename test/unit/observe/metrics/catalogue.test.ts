import { describe, expect, it } from '@jest/globals';
import { METRICS } from '../../../../scripts/reference/metric-catalogue.ts';
import { DURATION_BUCKETS } from '../../../../src/observe/metrics/declaration.ts';
import { NODES_CREATED } from '../../../../src/observe/metrics/nodes.ts';
import { createMetrics } from '../../../../src/observe/metrics.ts';

/** Prefixes that dashboards know; the product's own metrics have the first. */
const PREFIX = /^(karpenter|controller_runtime|workqueue|client_go|operator|leader_election|aws_sdk_go|nodejs_thread)_/;

describe('the catalogue of metrics', () => {
  it('declares each name once', () => {
    const names = METRICS.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it.each(METRICS.map((metric) => [metric.name, metric] as const))('declares %s well', (name, metric) => {
    expect(name.replace('KIND', 'kind')).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
    expect(name).toMatch(PREFIX);
    expect(metric.help).toMatch(/^\S.*[^\s.]$/);
    for (const label of metric.labels) expect(label).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
    expect(new Set(metric.labels).size).toBe(metric.labels.length);
    expect(metric.labels).not.toContain('le');
    expect(metric.labels).not.toContain('quantile');
    if (metric.type !== 'histogram') return;
    expect(metric.buckets).toEqual([...new Set(metric.buckets)].sort((a, b) => a - b));
    expect(metric.buckets.length).toBeGreaterThan(0);
  });

  it('can be registered completely, with all types', async () => {
    const metrics = createMetrics();
    for (const each of METRICS) {
      if (each.type === 'counter') metrics.counter(each);
      else if (each.type === 'gauge') metrics.gauge(each);
      else if (each.type === 'histogram') metrics.histogram(each);
      else metrics.summary(each);
    }
    const types = [...(await metrics.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]);
    expect(types).toEqual(METRICS.map(({ name, type }) => [name, type]));
  });
});

describe('a declaration', () => {
  it('is required instead of a literal, and checks labels', () => {
    const metrics = createMetrics();
    // @ts-expect-error a name at a call site
    expect(() => metrics.counter('karpenter_x_total')).toThrow();
    // @ts-expect-error a literal instead of a declaration
    metrics.counter({ type: 'counter', name: 'karpenter_x_total', help: 'X', labels: [] });
    // @ts-expect-error the type of another metric
    createMetrics().gauge(NODES_CREATED);
    // @ts-expect-error an undeclared label
    expect(() => metrics.counter(NODES_CREATED).inc({ node: 'a' })).toThrow();
    metrics.counter(NODES_CREATED).inc({ zone: 'a' });
  });

  it('has default buckets for durations up to ten minutes', () => {
    expect(DURATION_BUCKETS.at(-1)).toBe(600);
  });
});
