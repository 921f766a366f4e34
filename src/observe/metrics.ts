/**
 * The operator's metrics over one registry. Nothing is global: several operators may run in one process.
 * Asking again for a name answers the metric that exists, so any file may declare what it uses.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry, Summary } from 'prom-client';

export interface Metrics {
  counter(name: string, help: string, labelNames?: readonly string[]): Counter;
  gauge(name: string, help: string, labelNames?: readonly string[]): Gauge;
  /** Seconds by default: `DURATION_BUCKETS`. */
  histogram(name: string, help: string, labelNames?: readonly string[], buckets?: readonly number[]): Histogram;
  summary(name: string, help: string, labelNames?: readonly string[], quantiles?: readonly number[]): Summary;
  /** Calls `update` before each scrape, to set gauges that change by the mere passing of time. Promises are waited for. */
  beforeScrape(update: () => void | Promise<void>): void;
  /** Adds those of the process, as Node's Prometheus client names them. They measure until the process ends. */
  processDefaults(): void;
  /** Everything in Prometheus text format. */
  text(): Promise<string>;
  /** The same, one metric after the other: there may be tens of thousands of lines. */
  parts(): AsyncIterable<string>;
  readonly contentType: string;
}

/** Buckets in seconds of most durations. */
export const DURATION_BUCKETS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60, 120, 150, 300, 450, 600,
];

const QUANTILES: readonly number[] = [0, 0.5, 0.9, 0.99, 1];
/** A summary forgets values older than this, so that its quantiles speak of the recent past. */
const SUMMARY_AGE = { maxAgeSeconds: 600, ageBuckets: 5 };

/** Names that dashboards know in full; all others get the prefix `karpenter_`. */
const FULL_NAME =
  /^(karpenter|controller_runtime|workqueue|client_go|operator|leader_election|aws_sdk_go|process|nodejs)_/;

export function createMetrics(): Metrics {
  const registry = new Registry();
  const updates: (() => void | Promise<void>)[] = [];

  const once = <T>(name: string, known: abstract new (...args: never[]) => T, make: (name: string) => T): T => {
    const full = FULL_NAME.test(name) ? name : `karpenter_${name}`;
    const found: unknown = registry.getSingleMetric(full);
    if (found === undefined) return make(full);
    if (found instanceof known) return found;
    throw new TypeError(`Cannot declare metric "${full}" as a ${known.name}: it exists with another type`);
  };

  return {
    counter: (name, help, labelNames = []) =>
      once(name, Counter, (full) => new Counter({ name: full, help, labelNames, registers: [registry] })),
    gauge: (name, help, labelNames = []) =>
      once(name, Gauge, (full) => new Gauge({ name: full, help, labelNames, registers: [registry] })),
    histogram: (name, help, labelNames = [], buckets = DURATION_BUCKETS) =>
      once(
        name,
        Histogram,
        (full) => new Histogram({ name: full, help, labelNames, buckets: [...buckets], registers: [registry] }),
      ),
    summary: (name, help, labelNames = [], quantiles = QUANTILES) =>
      once(
        name,
        Summary,
        (full) =>
          new Summary({
            name: full,
            help,
            labelNames,
            percentiles: [...quantiles],
            ...SUMMARY_AGE,
            registers: [registry],
          }),
      ),
    beforeScrape: (update) => updates.push(update),
    processDefaults: () => collectDefaultMetrics({ register: registry }),
    text: async () => {
      await Promise.all(updates.map((update) => update()));
      return registry.metrics();
    },
    async *parts() {
      await Promise.all(updates.map((update) => update()));
      let separator = '';
      for (const { name } of registry.getMetricsAsArray()) {
        yield `${separator}${await registry.getSingleMetricAsString(name)}\n`;
        separator = '\n';
      }
    },
    contentType: registry.contentType,
  };
}
