/** The status-condition metrics of one kind, in the form that names the kind and in the older form with labels for it. */
import type { Counter, Histogram } from 'prom-client';
import { type StatusFields, statusDeclarations } from '../../observe/metrics/status.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { differentSamples, type Labels, type Sample } from '../../observe/owned-series.ts';

/** Of every object, at a scrape: nothing of it is held between scrapes, because there may be tens of thousands. */
export interface ConditionSamples {
  count(fixed: Labels | undefined): Iterable<readonly Sample[]>;
  seconds(fixed: Labels | undefined): Iterable<readonly Sample[]>;
  terminating(fixed: Labels | undefined): Iterable<readonly Sample[]>;
}

export interface ConditionMetrics {
  readonly transitions: Pick<Counter, 'inc'>;
  readonly transitionSeconds: Pick<Histogram, 'observe'>;
  readonly terminationSeconds: Pick<Histogram, 'observe'>;
  /** Labels that every series of this form carries in place of the object's own. */
  readonly fixed: Labels | undefined;
}

interface ConditionMetricsOptions extends Pick<StatusFields, 'prefix' | 'buckets' | 'shown'> {
  readonly metrics: Metrics;
  /** Label names that are taken from the object's own labels. */
  readonly extra: readonly string[];
  /** Labels that every series of this form carries in place of the object's own. */
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
