/**
 * Every metric of Karpenter 1.14.1 is declared with its type, labels and buckets. `metrics.json` records them;
 * `test/operator/metrics.test.ts` compares scrapes with the same table.
 */
import { describe, expect, it } from '@jest/globals';
import { METRIC_AREAS } from '../../scripts/reference/metric-catalogue.ts';
import { recordedMetrics } from './recorded-metrics.ts';

/** Metrics of Karpenter that cannot occur here: see the reference page. */
const LEFT_OUT = ['controller_runtime_conversion_webhook_panics_total', 'leader_election_slowpath_total'];
const KINDS = /^operator_(nodeclaim|nodepool|node|ec2nodeclass|capacitybuffer)_/;

const declared = new Map(
  METRIC_AREAS.flatMap(({ metrics }) => metrics.map((metric) => [metric.name, metric] as const)),
);
const notes = METRIC_AREAS.map(({ note = '' }) => note).join();

describe('the list of metrics of Karpenter', () => {
  it.each(recordedMetrics().map((metric) => [metric.name, metric] as const))('includes %s', (name, recorded) => {
    const found = declared.get(name.replace(KINDS, 'operator_KIND_'));
    if (LEFT_OUT.includes(name)) {
      expect(found).toBeUndefined();
      expect(notes).toContain(name);
      return;
    }
    expect(found?.type).toBe(recorded.type);
    // differences between kinds are declared at runtime and tested with a scrape
    if (KINDS.test(name)) return;
    expect([...(found?.labels ?? [])].sort()).toEqual(recorded.labels);
    if (found?.type === 'histogram') expect(found.buckets).toEqual(recorded.buckets);
    if (found?.type === 'summary') expect(found.quantiles).toEqual(recorded.quantiles);
  });
});
