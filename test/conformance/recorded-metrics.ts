/** Metrics of Karpenter 1.14.1, from its scrapes and its documentation. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WELL_KNOWN_LABELS } from '#api/objects';

export interface RecordedMetric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  /** Sorted. */
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
  readonly quantiles?: readonly number[];
}

/** Placeholder for one label per well-known node label: the part after the slash in Prometheus form. */
const OF_A_NODE = '*';

export function recordedMetrics(): readonly RecordedMetric[] {
  const text = readFileSync(join(import.meta.dirname, 'metrics.json'), 'utf8');
  return (JSON.parse(text) as RecordedMetric[]).map((metric) => ({
    ...metric,
    labels: metric.labels.flatMap((label) => (label === OF_A_NODE ? nodeLabels() : [label])).sort(),
  }));
}

const nodeLabels = (): readonly string[] =>
  [...WELL_KNOWN_LABELS].map((label) =>
    label
      .replace(/^[^/]*\//, '')
      .toLowerCase()
      .replaceAll('-', '_'),
  );
