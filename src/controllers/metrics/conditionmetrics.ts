/** The status-condition metrics of one kind, in the form that names the kind and in the older form with labels for it. */
import type { Counter, Histogram } from 'prom-client';
import type { Metrics } from '../../observe/metrics.ts';
import { type Labels, OwnedSeries } from './series.ts';

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

/** 0.5 s to 8192 s, in powers of two. */
export const TRANSITION_BUCKETS = Array.from({ length: 15 }, (_, exponent) => 0.5 * 2 ** exponent);
/** What the metrics library uses when nobody says otherwise. */
export const LIBRARY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface ConditionMetricsOptions {
  readonly metrics: Metrics;
  /** `operator_nodeclaim`, or `operator` for the older form. */
  readonly prefix: string;
  /** Label names that are taken from the object's own labels. */
  readonly extra: readonly string[];
  readonly fixed: Labels;
  readonly buckets: readonly number[];
}

export function conditionMetrics({
  metrics,
  prefix,
  extra,
  fixed,
  buckets,
}: ConditionMetricsOptions): ConditionMetrics {
  const more = [...Object.keys(fixed), ...extra];
  const perCondition = ['namespace', 'name', 'type', 'status', 'reason', ...more];
  const gauge = (name: string, help: string, labels: readonly string[]): OwnedSeries =>
    new OwnedSeries(metrics.gauge(`${prefix}_${name}`, help, labels));
  return {
    fixed,
    count: gauge('status_condition_count', 'Conditions of objects, 1 each', perCondition),
    seconds: gauge('status_condition_current_status_seconds', 'Age of the status of conditions', perCondition),
    terminating: gauge('termination_current_time_seconds', 'Time since objects were deleted that are still there', [
      'namespace',
      'name',
      ...more,
    ]),
    transitions: metrics.counter(`${prefix}_status_condition_transitions_total`, 'Changes of status', [
      'type',
      'status',
      'reason',
      ...more,
    ]),
    transitionSeconds: metrics.histogram(
      `${prefix}_status_condition_transition_seconds`,
      'Time that a status lasted before it changed',
      ['type', 'status', ...more],
      buckets,
    ),
    terminationSeconds: metrics.histogram(
      `${prefix}_termination_duration_seconds`,
      'Time from the deletion of objects until they are gone',
      more,
      buckets,
    ),
  };
}
