/** Reference pages of metrics, events and settings, generated from their declarations. */

import { EVENT_AREAS } from '../../src/observe/events/catalogue.ts';
import { EVENT_WINDOW_MS, type EventDeclaration, MINUTE } from '../../src/observe/events/declaration.ts';
import { METRIC_AREAS } from '../../src/observe/metrics/catalogue.ts';
import {
  DURATION_BUCKETS,
  FEW_DURATION_BUCKETS,
  type MetricDeclaration,
} from '../../src/observe/metrics/declaration.ts';
import { NODE_LABELS } from '../../src/observe/metrics/nodes.ts';
import { TRACING_VARIABLES } from '../../src/observe/traces/settings.ts';
import { AWS_GATES, CORE_GATES, type FeatureGate } from '../../src/process/feature-gates.ts';
import { environmentName } from '../../src/process/options.ts';
import { OPTIONS, VARIABLES } from '../../src/process/settings.ts';
import { code, heading, markdownTable } from './markdown.ts';

const page = (lines: readonly string[]): string => `${lines.join('\n')}\n`;

const codes = (names: readonly string[]): string => names.map(code).join(', ');

/** Maximum number of buckets in a full list. Longer lists show the first bucket, the last bucket and the count. */
const SHOWN_BUCKETS = 15;

export function metricsPage(): string {
  return page([
    ...heading('Metrics', 'the catalogue in src/observe/metrics'),
    'What the operator serves in the Prometheus text format at `/metrics` on its metrics port. Durations are in seconds.',
    '',
    `Histograms have these buckets if nothing else is said: ${DURATION_BUCKETS.join(', ')}.`,
    `Those in the default view are ${FEW_DURATION_BUCKETS.join(', ')}.`,
    '',
    'The default view (`METRICS=budget`) keeps the number of series within a budget: where a metric says so, it serves the',
    'sum or the largest of several series, fewer buckets, or nothing. Of resources of nodes it serves `cpu`, `memory`, `pods`',
    'and extended ones, and of instance types and offerings those that the cluster has nodes of. Labels without a value are',
    'left out. `METRICS=karpenter` serves all of it, and `/debug/metrics?name=NAME` shows the series of one metric.',
    '',
    `"Labels of a node" are ${codes(NODE_LABELS)}.`,
    ...METRIC_AREAS.flatMap(({ title, note, metrics }) => [
      '',
      `## ${title}`,
      '',
      ...(note === undefined ? [] : [note, '']),
      ...markdownTable(
        ['Metric', 'Type', 'Labels', 'Meaning'],
        metrics.map((metric) => [code(metric.name), metric.type, labelsOf(metric), meaningOf(metric)]),
      ),
    ]),
  ]);
}

function labelsOf({ labels }: MetricDeclaration): string {
  if (!NODE_LABELS.every((label) => labels.includes(label))) return codes(labels);
  return ['labels of a node', ...labels.filter((label) => !NODE_LABELS.includes(label)).map(code)].join(', ');
}

const meaningOf = (metric: MetricDeclaration): string => `${measuredBy(metric)}${shareText(metric)}`;

/** Returns the part of the metric that the default view serves, if it is not the whole metric. */
function shareText({ share }: MetricDeclaration): string {
  switch (share?.kind) {
    case undefined:
      return '';
    case 'none':
      return ' Not in the default view.';
    case 'sum':
      return ` By default summed over ${overText(share.over)}.`;
    case 'max':
      return ` By default the largest over ${overText(share.over)}.`;
    case 'buckets':
      if (share.buckets === FEW_DURATION_BUCKETS) return '';
      return share.buckets.length === 0 ? ' By default without buckets.' : ` By default ${share.buckets.join(', ')}.`;
  }
}

function overText(over: readonly string[]): string {
  const left = NODE_LABELS.filter((label) => !over.includes(label));
  return over.length < left.length ? codes(over) : `labels of a node but ${codes(left)}`;
}

function measuredBy(metric: MetricDeclaration): string {
  const { help } = metric;
  if (metric.type === 'summary') return `${help}. Quantiles ${metric.quantiles.join(', ')}.`;
  if (metric.type !== 'histogram' || metric.buckets === DURATION_BUCKETS) return `${help}.`;
  return `${help}. Buckets ${bucketsText(metric.buckets)}.`;
}

function bucketsText(buckets: readonly number[]): string {
  if (buckets.length <= SHOWN_BUCKETS) return buckets.join(', ');
  return `from ${buckets.at(0)} to ${buckets.at(-1)}, ${buckets.length} of them`;
}

export function eventsPage(): string {
  return page([
    ...heading('Events', 'the catalogue in src/observe/events'),
    'What the operator publishes on objects, as `kubectl describe` and `kubectl get events` show it. An event of an object',
    'without a namespace is in the namespace `default`.',
    '',
    'An event is dropped while an earlier one with the same reason and the same key is younger than the window.',
    ...EVENT_AREAS.flatMap(({ title, events }) => [
      '',
      `## ${title}`,
      '',
      ...markdownTable(
        ['Reason', 'Type', 'Object', 'Meaning', 'Key', 'Window'],
        events.map((event) => [
          code(event.reason),
          event.type,
          event.about.join(', '),
          event.meaning,
          event.key ?? '',
          windowText(event),
        ]),
      ),
    ]),
  ]);
}

function windowText({ key, windowMs = EVENT_WINDOW_MS, limit }: EventDeclaration): string {
  if (key === undefined) return '';
  const minutes = windowMs / MINUTE;
  const window = minutes === 1 ? '1 minute' : `${minutes} minutes`;
  return limit === undefined ? window : `${window}; at most ${limit.qps} a second of all, ${limit.burst} in a burst`;
}

export function settingsPage(): string {
  return page([
    ...heading('Settings', 'the declarations in src/process/settings.ts'),
    'How the operator is set: a flag comes before the environment variable, and that before the default. Durations are',
    'written as `10s`, `1m` or `2h45m`. A flag that cannot be read ends the process at its start, as does a value that is',
    'not allowed; an environment variable that is no number, duration or boolean where one is wanted counts as not set.',
    '',
    ...markdownTable(
      ['Flag', 'Environment variable', 'Default', 'Meaning'],
      Object.values(OPTIONS).map(({ flag, shown, help }) => [
        code(`--${flag}`),
        code(environmentName(flag)),
        shown === '' ? '' : code(shown),
        `${help}.`,
      ]),
    ),
    '',
    '## Environment variables without a flag',
    '',
    ...markdownTable(
      ['Environment variable', 'Meaning'],
      Object.values(VARIABLES).map(({ name, help }) => [code(name), `${help}.`]),
    ),
    '',
    'The credentials, region and endpoints of AWS are those of the AWS SDK, and `KUBECONFIG` names the cluster when the',
    'operator runs outside of it.',
    '',
    '## Traces',
    '',
    "OpenTelemetry's own variables; there are no traces unless one of the first two is set. A value that cannot be used",
    'has no effect, and the log says so at the start. See [operations.md](../operations.md#traces).',
    '',
    ...markdownTable(
      ['Environment variable', 'Meaning'],
      Object.entries(TRACING_VARIABLES).map(([name, help]) => [code(name), `${help}.`]),
    ),
    '',
    '## Feature gates',
    '',
    'Written as `Name=true,Other=false`. A name that is not known has no effect, and the log says so at the start.',
    '',
    ...markdownTable(
      ['Gate', 'Setting', 'Default', 'Meaning'],
      [
        ...Object.values(CORE_GATES).map(gateRow('FEATURE_GATES')),
        ...Object.values(AWS_GATES).map(gateRow('AWS_FEATURE_GATES')),
      ],
    ),
  ]);
}

const gateRow =
  (setting: string) =>
  ({ name, fallback, help }: FeatureGate): readonly string[] => [
    code(name),
    code(setting),
    code(String(fallback)),
    `${help}.`,
  ];
