import { describe, expect, it } from '@jest/globals';
import { AWS_GATES, AWS_OPERATOR_OPTIONS } from '#aws/settings';
import { TRACING_VARIABLES } from '#observe/testing';
import { CORE_GATES } from '#process/settings';
import { environmentName, VARIABLES } from '#process/testing';
import { EVENTS } from '../../../scripts/reference/event-catalogue.ts';
import { METRICS } from '../../../scripts/reference/metric-catalogue.ts';
import { eventsPage, metricsPage, settingsPage } from '../../../scripts/reference/operator.ts';

/** Returns the first cells of the rows of all tables. */
const firstCells = (page: string): readonly string[] =>
  [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, cell = '']) => cell);

describe('a reference page', () => {
  it('lists every metric, event and setting', () => {
    expect(firstCells(metricsPage())).toEqual(METRICS.map(({ name }) => name));
    expect(firstCells(eventsPage())).toEqual(EVENTS.map(({ reason }) => reason));
    expect(firstCells(settingsPage())).toEqual([
      ...Object.values(AWS_OPERATOR_OPTIONS).map(({ flag }) => `--${flag}`),
      ...Object.values(VARIABLES).map(({ name }) => name),
      ...Object.keys(TRACING_VARIABLES),
      ...[CORE_GATES, AWS_GATES].flatMap((gates) => Object.values(gates).map(({ name }) => name)),
    ]);
  });

  it('contains types, labels, quantiles and buckets of metrics', () => {
    const page = metricsPage();
    expect(page).toContain('| `karpenter_nodes_created_total` | counter | `nodepool`, `zone` | Nodes that joined');
    expect(page).toContain('| `karpenter_nodes_allocatable` | gauge | labels of a node, `resource_type` |');
    expect(page).toContain('Quantiles 0, 0.5, 0.9, 0.99, 1.');
    expect(page).toContain('Buckets from 1 to 1000, 34 of them.');
  });

  it('contains the period for which repeated events are dropped', () => {
    const page = eventsPage();
    expect(page).toContain('| uid of the pod | 5 minutes |');
    expect(page).toContain('| uid of the NodePool | 1 minute, growing |');
    expect(page).toContain('| 2 minutes; at most 5 a second of all, 10 in a burst |');
    expect(page).toMatch(/^\| `LeaderElection` .* \| {2}\| {2}\|$/m);
  });

  it('contains variables and defaults of settings', () => {
    for (const { flag } of Object.values(AWS_OPERATOR_OPTIONS))
      expect(settingsPage()).toContain(`\`${environmentName(flag)}\``);
    expect(settingsPage()).toContain('| `10s` |');
  });
});

describe('the note about metrics of Go', () => {
  it('names only replacements that are served', () => {
    const [, note = ''] = /The metrics of Go and of its client([\s\S]*?)There is no/.exec(metricsPage()) ?? [];
    const names = [...note.matchAll(/`((?:nodejs|karpenter|client_go)_\w+)`/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(4);
    for (const name of names) expect(metricsPage()).toContain(`| \`${name}\` |`);
  });
});
