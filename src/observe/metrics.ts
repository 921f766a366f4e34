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
import { type Sample, seriesText, valueText } from './samples.ts';

type Named<Label extends string> = Pick<MetricDeclaration, 'name' | 'help'> & { readonly labels: readonly Label[] };

export interface Metrics {
  counter<Label extends string>(declaration: CounterDeclaration<Label>): Counter<Label>;
  gauge<Label extends string>(declaration: GaugeDeclaration<Label>): Gauge<Label>;
  histogram<Label extends string>(declaration: HistogramDeclaration<Label>): Histogram<Label>;
  summary<Label extends string>(declaration: SummaryDeclaration<Label>): Summary<Label>;
  /**
   * A gauge whose samples are read at each scrape. For gauges with series for every pod or node: prom-client holds some
   * 3 kB for each series. No two samples may have the same labels.
   */
  readAtScrape(declaration: GaugeDeclaration, read: () => Iterable<Sample>): void;
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
  const readers = new Map<string, (() => Iterable<Sample>)[]>();

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

  async function* parts(): AsyncGenerator<string> {
    await Promise.all(updates.map((update) => update()));
    let separator = '';
    for (const { name } of registry.getMetricsAsArray()) {
      yield `${separator}${await registry.getSingleMetricAsString(name)}\n`;
      for (const read of readers.get(name) ?? []) yield* linesOf(name, read());
      separator = '\n';
    }
  }

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
    readAtScrape: (declaration, read) => {
      const { name } = declaration;
      once(declaration, Gauge, () => new Gauge(common(declaration)));
      readers.set(name, [...(readers.get(name) ?? []), read]);
    },
    beforeScrape: (update) => updates.push(update),
    processDefaults: () => collectDefaultMetrics({ register: registry }),
    text: async () => (await Array.fromAsync(parts())).join(''),
    parts,
    contentType: registry.contentType,
  };
}

/** Lines that are written at once. */
const LINES = 100;

function* linesOf(name: string, samples: Iterable<Sample>): Generator<string> {
  let lines = '';
  let count = 0;
  for (const sample of samples) {
    lines += `${name}${seriesText(sample)} ${valueText(sample.value)}\n`;
    count++;
    if (count % LINES !== 0) continue;
    yield lines;
    lines = '';
  }
  if (lines !== '') yield lines;
}
