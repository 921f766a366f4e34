/** The status-condition metrics of one kind, in the form that names the kind and in the older form with labels for it. */
import type { Counter, Histogram } from 'prom-client';
import { type StatusFields, statusDeclarations } from '../../observe/metrics/status.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { type Labels, OwnedSeries } from '../../observe/owned-series.ts';

export interface ConditionMetrics {
  readonly count: OwnedSeries;
  readonly seconds: OwnedSeries;
  readonly terminating: OwnedSeries;
  readonly transitions: Pick<Counter, 'inc'>;
  readonly transitionSeconds: Pick<Histogram, 'observe'>;
  readonly terminationSeconds: Pick<Histogram, 'observe'>;
  /** Labels that every series of this form carries. */
  readonly fixed: Labels;
}

export interface ConditionMetricsOptions extends Pick<StatusFields, 'prefix' | 'buckets' | 'shown'> {
  readonly metrics: Metrics;
  /** Label names that are taken from the object's own labels. */
  readonly extra: readonly string[];
  readonly fixed: Labels;
}

export function conditionMetrics({
  metrics,
  prefix,
  extra,
  fixed,
  buckets,
  shown,
}: ConditionMetricsOptions): ConditionMetrics {
  const declared = statusDeclarations({ prefix, labels: [...Object.keys(fixed), ...extra], buckets, shown });
  return {
    fixed,
    count: new OwnedSeries(metrics, declared.count),
    seconds: new OwnedSeries(metrics, declared.seconds),
    terminating: new OwnedSeries(metrics, declared.terminating),
    transitions: metrics.counter(declared.transitions),
    transitionSeconds: metrics.histogram(declared.transitionSeconds),
    terminationSeconds: metrics.histogram(declared.terminationSeconds),
  };
}
