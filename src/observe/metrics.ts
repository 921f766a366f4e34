/**
 * The operator's metrics over one registry, as `metrics/` declares them. Nothing is global: several operators may run in
 * one process. A metric is registered on first use; later uses get the same one.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry, Summary } from 'prom-client';
import type {
  CounterDeclaration,
  GaugeDeclaration,
  HistogramDeclaration,
  MetricDeclaration,
  SummaryDeclaration,
} from './metrics/declaration.ts';

type Named<Label extends string> = Pick<MetricDeclaration, 'name' | 'help'> & { readonly labels: readonly Label[] };

export interface Metrics {
  counter<Label extends string>(declaration: CounterDeclaration<Label>): Counter<Label>;
  gauge<Label extends string>(declaration: GaugeDeclaration<Label>): Gauge<Label>;
  histogram<Label extends string>(declaration: HistogramDeclaration<Label>): Histogram<Label>;
  summary<Label extends string>(declaration: SummaryDeclaration<Label>): Summary<Label>;
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

/** A summary forgets values older than this, so that its quantiles speak of the recent past. */
const SUMMARY_AGE = { maxAgeSeconds: 600, ageBuckets: 5 };

export function createMetrics(): Metrics {
  const registry = new Registry();
  const updates: (() => void | Promise<void>)[] = [];

  const once = <T>({ name }: MetricDeclaration, known: abstract new (...args: never[]) => T, make: () => T): T => {
    const found: unknown = registry.getSingleMetric(name);
    if (found === undefined) return make();
    if (found instanceof known) return found;
    throw new TypeError(`Cannot declare metric "${name}" as a ${known.name}: it exists with another type`);
  };
  const common = <Label extends string>({ name, help, labels }: Named<Label>) => ({
    name,
    help,
    labelNames: labels,
    registers: [registry],
  });

  return {
    counter: (declaration) => once(declaration, Counter, () => new Counter(common(declaration))),
    gauge: (declaration) => once(declaration, Gauge, () => new Gauge(common(declaration))),
    histogram: (declaration) =>
      once(declaration, Histogram, () => new Histogram({ ...common(declaration), buckets: [...declaration.buckets] })),
    summary: (declaration) =>
      once(
        declaration,
        Summary,
        () => new Summary({ ...common(declaration), percentiles: [...declaration.quantiles], ...SUMMARY_AGE }),
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
