/** Status-condition metrics of one kind, in the form with the kind in the name and in the older form with labels for the kind. */
import type { Counter, Histogram } from 'prom-client';
import { type StatusFields, statusDeclarations } from '../../observe/metrics/status.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { differentSamples, type Labels, type Sample } from '../../observe/owned-series.ts';

/**
 * Samples of all objects, created during a scrape. The samples are not kept between scrapes, because there may be tens of
 * thousands.
 */
export interface ConditionSamples {
  count(fixed: Labels | undefined): Iterable<readonly Sample[]>;
  seconds(fixed: Labels | undefined): Iterable<readonly Sample[]>;
  terminating(fixed: Labels | undefined): Iterable<readonly Sample[]>;
}

export interface ConditionMetrics {
  readonly transitions: Pick<Counter, 'inc'>;
  readonly transitionSeconds: Pick<Histogram, 'observe'>;
  readonly terminationSeconds: Pick<Histogram, 'observe'>;
  /** Labels of every series of this form. They replace the labels of the object. */
  readonly fixed: Labels | undefined;
}

interface ConditionMetricsOptions extends Pick<StatusFields, 'prefix' | 'buckets' | 'shown'> {
  readonly metrics: Metrics;
  /** Names of labels that are read from the object. */
  readonly extra: readonly string[];
  /** Labels of every series of this form. They replace the labels of the object. */
  readonly fixed?: Labels;
  readonly samples: ConditionSamples;
}

export function conditionMetrics({
  metrics,
  prefix,
  extra,
  fixed,
  buckets,
  shown,
  samples,
}: ConditionMetricsOptions): ConditionMetrics {
  const declared = statusDeclarations({ prefix, labels: [...Object.keys(fixed ?? {}), ...extra], buckets, shown });
  metrics.readAtScrape(declared.count, () => differentSamples(samples.count(fixed)));
  metrics.readAtScrape(declared.seconds, () => differentSamples(samples.seconds(fixed)));
  metrics.readAtScrape(declared.terminating, () => differentSamples(samples.terminating(fixed)));
  return {
    fixed,
    transitions: metrics.counter(declared.transitions),
    transitionSeconds: metrics.histogram(declared.transitionSeconds),
    terminationSeconds: metrics.histogram(declared.terminationSeconds),
  };
}
