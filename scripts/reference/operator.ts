/** Reference pages of metrics, events and settings, generated from their declarations. */

import { EC2_NODE_CLASS } from '#api/objects';
import { AWS_GATES, AWS_OPERATOR_OPTIONS } from '#aws/settings';
import { EVENT_WINDOW_MS } from '#observe/events';
import {
  DURATION_BUCKETS,
  type EventDeclaration,
  FEW_DURATION_BUCKETS,
  type MetricDeclaration,
  MINUTE,
  NODE_LABELS,
  TRACING_VARIABLES,
} from '#observe/testing';
import { CORE_GATES } from '#process/settings';
import { environmentName, type FeatureGate, VARIABLES } from '#process/testing';
import { EVENT_AREAS } from './event-catalogue.ts';
import { featureStages } from './feature-stages.ts';
import { code, heading, markdownTable } from './markdown.ts';
import { METRIC_AREAS } from './metric-catalogue.ts';

const page = (lines: readonly string[]): string => `${lines.join('\n')}\n`;

const codes = (names: readonly string[]): string => names.map(code).join(', ');

/** Maximum number of buckets in a full list. Longer lists show the first bucket, the last bucket and the count. */
const SHOWN_BUCKETS = 15;

export function metricsPage(): string {
  return page([
    ...heading('Metrics', 'the catalogue in src/observe/metrics and src/aws/metric-declarations.ts'),
    'Metrics in the Prometheus text format at `/metrics` on the metrics port of the operator. Durations are in seconds.',
    '',
    `Histograms have these buckets, unless otherwise stated: ${DURATION_BUCKETS.join(', ')}.`,
    `The buckets in the default view are ${FEW_DURATION_BUCKETS.join(', ')}.`,
    '',
    'The default view (`METRICS=budget`) keeps the number of series within a budget: for metrics with a note, it serves the',
    'sum or the maximum of several series, fewer buckets, or no series. For resources of nodes it serves `cpu`, `memory`, `pods`',
    'and extended resources, and only instance types and offerings of existing nodes. Labels without a value are',
    'omitted. `METRICS=karpenter` serves all series, and `/debug/metrics?name=NAME` shows the series of one metric.',
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
      return ` By default the maximum over ${overText(share.over)}.`;
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
    ...heading('Events', 'the catalogue in src/observe/events and src/aws/events.ts'),
    'Events that the operator publishes for objects. `kubectl describe` and `kubectl get events` show them. An event of an object',
    'without a namespace is in the namespace `default`.',
    '',
    'An event is dropped if an event with the same reason and the same key was published within the window. A growing window doubles',
    'with each repetition of the same message, up to 45 minutes.',
    ...EVENT_AREAS.flatMap(({ title, events }) => [
      '',
      `## ${title}`,
      '',
      ...markdownTable(
        ['Reason', 'Type', 'Object', 'Meaning', 'Key', 'Window'],
        events.map((event) => [
          code(event.reason),
          event.type,
          event.about.map((kind) => (kind === 'NodeClass' ? EC2_NODE_CLASS.kind : kind)).join(', '),
          event.meaning,
          event.key ?? '',
          windowText(event),
        ]),
      ),
    ]),
  ]);
}

function windowText({ key, windowMs = EVENT_WINDOW_MS, isLasting, limit }: EventDeclaration): string {
  if (key === undefined) return '';
  const minutes = windowMs / MINUTE;
  const window = `${minutes === 1 ? '1 minute' : `${minutes} minutes`}${isLasting ? ', growing' : ''}`;
  return limit === undefined ? window : `${window}; at most ${limit.qps} a second of all, ${limit.burst} in a burst`;
}

export function settingsPage(): string {
  return page([
    ...heading('Settings', 'the declarations in src/process/settings.ts and src/aws/settings.ts'),
    'Settings of the operator. A flag takes precedence over the environment variable, and the variable over the default. Durations are',
    'written as `10s`, `1m` or `2h45m`. The process exits at its start if a flag cannot be parsed or a value is',
    'not allowed. An environment variable that is not a valid number, duration or boolean is ignored.',
    '',
    ...markdownTable(
      ['Flag', 'Environment variable', 'Default', 'Meaning'],
      Object.values(AWS_OPERATOR_OPTIONS).map(({ flag, shown, help }) => [
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
    'The credentials, region and endpoints of AWS are read by the AWS SDK. `KUBECONFIG` selects the cluster if the',
    'operator runs outside of the cluster.',
    '',
    '## Traces',
    '',
    'Variables of OpenTelemetry. Traces are disabled unless one of the first two is set. An invalid value',
    'is ignored and logged at the start. See [operations.md](../operations.md#traces).',
    '',
    ...markdownTable(
      ['Environment variable', 'Meaning'],
      Object.entries(TRACING_VARIABLES).map(([name, help]) => [code(name), `${help}.`]),
    ),
    '',
    '## Feature gates',
    '',
    'Written as `Name=true,Other=false`. An unknown name is ignored and logged at the start.',
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

/** Page of features with their stage. @param kinds kinds of custom resources by their version */
export function featuresPage(kinds: ReadonlyMap<string, readonly string[]>): string {
  const rows = (stage: 'alpha' | 'beta') =>
    featureStages()
      .filter((feature) => feature.stage === stage)
      .map(({ name, other, help }) => [code(name), code(other), `${help}.`]);
  return page([
    ...heading(
      'Features and their stages',
      'scripts/reference/feature-stages.ts and the declarations of feature gates',
    ),
    'A feature that changes decisions has one of three stages. Its stage follows from its default, and the',
    '[changelog](../../CHANGELOG.md) has each change.',
    '',
    '| Stage | Default | Promise |',
    '|---|---|---|',
    '| alpha | off | It may change or be removed in any version. |',
    '| beta | on, with a switch | Its switch stays for two minor versions after it becomes stable. Changes have an entry in the changelog. |',
    '| stable | on, without a switch | It changes only with a new major version. |',
    '',
    'All behaviour of Karpenter without a gate is stable.',
    '',
    '## Beta',
    '',
    ...markdownTable(['Feature', 'Switch off', 'Meaning'], rows('beta')),
    '',
    '## Alpha',
    '',
    ...markdownTable(['Feature', 'Switch on', 'Meaning'], rows('alpha')),
    '',
    '## Custom resources',
    '',
    ...markdownTable(
      ['Version', 'Kinds'],
      [...kinds].sort().map(([version, names]) => [code(version), codes(names)]),
    ),
  ]);
}
