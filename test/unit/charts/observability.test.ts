/**
 * Dashboards and alerts use only metrics and labels that the default view serves, and the runbook has a section for
 * each alert. `test/cluster/prometheus.test.ts` evaluates every query in Prometheus.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { statusDeclarations, statusPrefix } from '#observe/metrics';
import type { MetricDeclaration } from '#observe/testing';
import { METRICS } from '../../../scripts/reference/metric-catalogue.ts';
import { alerts, dashboards, labelsIn, queries, seriesIn } from '../../support/queries.ts';

const OWNERSHIP = ['karpenter_k8s_aws_ec2nodeclass', 'karpenter_sh_nodepool'];
const statuses = (['nodeclaim', 'node', 'nodepool', 'nodepolicy', 'ec2nodeclass'] as const).flatMap((kind) => {
  const isMany = kind === 'nodeclaim' || kind === 'node';
  const fields = { labels: isMany ? OWNERSHIP : [], shown: isMany ? 'together' : 'objects' } as const;
  return Object.values(statusDeclarations({ prefix: statusPrefix(kind), buckets: 'transition', ...fields }));
});
const declared = new Map<string, MetricDeclaration>([...METRICS, ...statuses].map((metric) => [metric.name, metric]));
/** Labels that Prometheus adds or that every histogram has. */
const ANY = ['cluster', 'instance', 'job', 'le'];

const declarationOf = (series: string): MetricDeclaration | undefined => {
  const [whole, part] = [declared.get(series), declared.get(series.replace(/_(bucket|sum|count)$/, ''))];
  return whole ?? (part?.type === 'histogram' || part?.type === 'summary' ? part : undefined);
};

const labelsOf = ({ labels, share }: MetricDeclaration): readonly string[] =>
  labels.filter((label) => !(share && 'over' in share && share.over.includes(label)));

describe('a query', () => {
  it.each(queries().map(({ of, expr }) => [of, expr] as const))('requests a served metric in "%s": %s', (_, expr) => {
    const names = seriesIn(expr).filter((name) => !name.startsWith('process_'));
    if (names.length === 0) {
      expect(expr).toMatch(/^process_\w+\{/);
      return;
    }
    const metrics = names.map((name) => ({ name, metric: declarationOf(name) }));
    expect(metrics.filter(({ metric }) => metric === undefined || metric.share?.kind === 'none')).toEqual([]);
    const labels = new Set([...ANY, ...metrics.flatMap(({ metric }) => (metric ? labelsOf(metric) : []))]);
    expect(labelsIn(expr).filter((label) => !labels.has(label))).toEqual([]);
    for (const { name, metric } of metrics)
      if (name.endsWith('_bucket') && metric?.share?.kind === 'buckets') expect(metric.share.buckets).not.toEqual([]);
  });
});

describe.each(dashboards().map((dashboard) => [dashboard.title, dashboard] as const))('the dashboard %s', (_, {
  uid,
  panels,
  annotations,
  templating,
  links,
}) => {
  it('has panels that do not overlap, each with an id, a title and queries', () => {
    expect(uid).toMatch(/^karpenter-[a-z-]+$/);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(panels.length).toBeGreaterThan(8);
    for (const { type, title, targets } of panels) {
      expect(title).not.toBe('');
      if (type !== 'row') expect(targets?.length).toBeGreaterThan(0);
    }
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (__, cell) => `${x + (cell % w)}/${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(cells.every((cell) => Number.parseInt(cell, 10) < 24)).toBe(true);
  });

  it('reads only series of the selected cluster, marks events and links to the runbook', () => {
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'cluster']);
    expect(annotations.list.map(({ name }) => name)).toEqual(['Interruptions', 'Leader changes']);
    expect(links.map(({ title }) => title)).toEqual(['Karpenter', 'Runbook']);
    const all = [...annotations.list, ...panels.flatMap(({ targets = [] }) => targets)].map(({ expr }) => expr);
    for (const expr of all)
      for (const name of seriesIn(expr))
        for (const rest of expr.split(new RegExp(`\\b${name}\\b`)).slice(1))
          expect(rest.startsWith('{cluster="$cluster"')).toBe(true);
  });

  it('uses only labels that the metric has', () => {
    for (const { targets = [] } of panels)
      for (const { expr, legendFormat } of targets)
        for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
          expect([...labelsIn(expr), 'instance']).toContain(label);
  });
});

describe('the runbook', () => {
  const runbook = readFileSync(new URL('../../../docs/runbook.md', import.meta.url), 'utf8');
  const sections = new Map(
    runbook
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf('\n')), section]),
  );

  it.each(alerts().map(({ alert }) => alert))('has the meaning of %s, the places to check and a remedy', (alert) => {
    const section = sections.get(alert) ?? '';
    for (const part of ['**Meaning**', '**Check**', '**Remedy**']) expect(section).toContain(part);
  });

  it('has sections for existing alerts only', () => {
    expect([...sections.keys()].filter((name) => !alerts().some(({ alert }) => alert === name))).toEqual([]);
  });

  it('is linked by every alert, and every alert has a severity and a summary', () => {
    const { repository } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      readonly repository: string;
    };
    for (const { alert, labels, annotations } of alerts()) {
      const [page, anchor] = annotations.runbook_url.split('#');
      expect(page).toBe(`${repository}/blob/main/docs/runbook.md`);
      expect([...sections.keys()].find((name) => name.toLowerCase() === anchor)).toBe(alert);
      expect(['critical', 'warning', 'info']).toContain(labels.severity);
      expect(annotations.summary).not.toBe('');
    }
  });
});
