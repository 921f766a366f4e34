/**
 * Metrics of the operator in one registry, as `metrics/` declares them. No state is global, so several operators may run in one
 * process. A metric is registered on first use. Later uses return the same metric.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry, Summary } from 'prom-client';
import type { MetricsView } from './metric-views.ts';
import type {
  CounterDeclaration,
  GaugeDeclaration,
  HistogramDeclaration,
  MetricDeclaration,
  Share,
  SummaryDeclaration,
} from './metrics/declaration.ts';
import type { Sample, Series } from './samples.ts';
import { type MetricState, type SeriesWatch, scrape } from './scrape.ts';

type Named<Label extends string> = Pick<MetricDeclaration, 'name' | 'help'> & { readonly labels: readonly Label[] };

export interface Metrics {
  counter<Label extends string>(declaration: CounterDeclaration<Label>): Counter<Label>;
  gauge<Label extends string>(declaration: GaugeDeclaration<Label>): Gauge<Label>;
  histogram<Label extends string>(declaration: HistogramDeclaration<Label>): Histogram<Label>;
  summary<Label extends string>(declaration: SummaryDeclaration<Label>): Summary<Label>;
  /**
   * Declares a gauge whose samples are read at each scrape. Use it for gauges with series for every pod or node, because
   * prom-client needs about 3 kB for each series. No two samples may have the same labels.
   */
  readAtScrape(declaration: GaugeDeclaration, read: () => Iterable<Sample>): void;
  /** Calls `update` before each scrape, to set gauges that change with time. Waits for returned promises. */
  beforeScrape(update: () => void | Promise<void>): void;
  /** Removes the series with this value in one of the labels, except series that are read at each scrape. */
  endSeries(labels: readonly string[], value: string): Promise<void>;
  /** Adds the default process metrics of Node's Prometheus client. They are collected until the process ends. */
  processDefaults(): void;
  /** Serves the number of series from now on, and reports this number after each scrape. */
  watchSeries(watch: SeriesWatch): void;
  /** Returns all metrics of this view in Prometheus text format. */
  text(): Promise<string>;
  /** Yields the same text in parts, so that other work can run in between. There may be tens of thousands of lines. */
  parts(): AsyncIterable<string>;
  /** Returns the names of all metrics, in the order of the output. */
  names(): readonly string[];
  /** Returns the state of a metric, or undefined if the metric does not exist. */
  state(name: string): Promise<MetricState | undefined>;
  readonly contentType: string;
}

/** Limits a summary to recent values, so that its quantiles describe the recent past. */
const SUMMARY_AGE = { maxAgeSeconds: 600, ageBuckets: 5 };

interface MetricsOptions {
  /** View to serve. Default: all series. */
  readonly view?: MetricsView;
}

export function createMetrics({ view = 'karpenter' }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  const updates: (() => void | Promise<void>)[] = [];
  const readers = new Map<string, (() => Iterable<Sample>)[]>();
  const shares = new Map<string, Share>();
  let watch: SeriesWatch | undefined;

  const once = registering(registry, shares);
  const common = <Label extends string>(declaration: Named<Label>) => optionsOf(declaration, registry);
  const gauge: Metrics['gauge'] = (declaration) => once(declaration, Gauge, () => new Gauge(common(declaration)));

  const names = (): readonly string[] => registry.getMetricsAsArray().map(({ name }) => name);

  async function state(name: string): Promise<MetricState | undefined> {
    const found = await registry.getSingleMetric(name)?.get();
    if (found === undefined) return undefined;
    const { help, type, values } = found;
    return {
      name,
      help,
      type: String(type),
      share: shares.get(name),
      series: seriesOf(name, values, readers.get(name)),
    };
  }

  const parts = (): AsyncGenerator<string> => scrape({ view, names, state, updates, watch });

  return {
    counter: (declaration) => once(declaration, Counter, () => new Counter(common(declaration))),
    gauge,
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
      gauge(declaration);
      readers.set(name, [...(readers.get(name) ?? []), read]);
    },
    beforeScrape: (update) => updates.push(update),
    endSeries: (labels, value) => endSeries(registry, labels, value),
    processDefaults: () => collectDefaultMetrics({ register: registry }),
    watchSeries: (watching) => {
      watch = watching;
    },
    text: async () => (await Array.fromAsync(parts())).join(''),
    parts,
    names,
    state,
    contentType: registry.contentType,
  };
}

/** Creates each metric once, and records its share. */
const registering =
  (registry: Registry, shares: Map<string, Share>) =>
  <T>({ name, share }: MetricDeclaration, known: abstract new (...args: never[]) => T, make: () => T): T => {
    const found: unknown = registry.getSingleMetric(name);
    if (share !== undefined) shares.set(name, share);
    if (found === undefined) return make();
    if (found instanceof known) return found;
    throw new TypeError(`Cannot declare metric "${name}" as a ${known.name}: it exists with another type`);
  };

const optionsOf = <Label extends string>({ name, help, labels: labelNames }: Named<Label>, registry: Registry) => ({
  name,
  help,
  labelNames,
  registers: [registry],
});

/** Members of metrics that prom-client's types omit. */
interface Removable {
  readonly labelNames: readonly string[];
  get(): Promise<{ readonly values: readonly Value[] }>;
  remove(labels: Value['labels']): void;
}

async function endSeries(registry: Registry, labels: readonly string[], value: string): Promise<void> {
  for (const metric of registry.getMetricsAsArray() as unknown as readonly Removable[]) {
    const named = labels.filter((label) => metric.labelNames.includes(label));
    if (named.length === 0) continue;
    for (const { labels: found } of (await metric.get()).values) {
      if (!named.some((label) => found[label] === value)) continue;
      // also removes the buckets and quantiles of a series
      const { le: _, quantile: __, ...series } = found;
      metric.remove(series);
    }
  }
}

interface Value {
  readonly value: number;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  /** Name of this series in a histogram or summary. */
  readonly metricName?: string;
}

function* seriesOf(
  name: string,
  values: readonly Value[],
  readers: readonly (() => Iterable<Sample>)[] = [],
): Generator<Series> {
  for (const { value, labels, metricName = name } of values)
    yield { name: metricName, labels: labels as Series['labels'], value };
  for (const read of readers) for (const sample of read()) yield { ...sample, name };
}
