/** A scrape: all metrics of the view in Prometheus' text format, written in small steps. */

import type { Logger } from './logger.ts';
import { isServed, type MeasuredSize, type MetricsView, PAUSE, seriesBudget, viewSeries } from './metric-views.ts';
import type { GaugeDeclaration, Share } from './metrics/declaration.ts';
import { METRICS_SERIES, METRICS_SERIES_BUDGET } from './metrics/process.ts';
import { helpText, lineText, type Series } from './samples.ts';

/** Current state of a metric, independent of the view. */
export interface MetricState {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly share: Share | undefined;
  /** Series, read one by one on demand. */
  readonly series: Iterable<Series>;
}

/** Number of series of a scrape, for monitoring. */
interface ScrapeCount {
  readonly series: number;
  /** Undefined without a budget, as in the view `karpenter`. */
  readonly budget: number | undefined;
  readonly byMetric: ReadonlyMap<string, number>;
}

export interface SeriesWatch {
  /** Objects in the cluster. The budget depends on them. */
  readonly size: () => MeasuredSize;
  readonly scraped: (count: ScrapeCount) => void;
}

interface ScrapeOptions {
  readonly view: MetricsView;
  readonly names: () => readonly string[];
  readonly state: (name: string) => Promise<MetricState | undefined>;
  /** Functions to run before the scrape. The scrape waits for them. */
  readonly updates: readonly (() => void | Promise<void>)[];
  readonly watch: SeriesWatch | undefined;
}

/** Yields the text in parts. Each part takes little time, and some parts are empty. */
export async function* scrape({ view, names, state, updates, watch }: ScrapeOptions): AsyncGenerator<string> {
  await Promise.all(updates.map((update) => update()));
  const byMetric = new Map<string, number>();
  let separator = '';
  for (const name of names()) {
    const present = await state(name);
    if (present === undefined || !isServed(view, present.share)) continue;
    yield separator + headOf(present);
    separator = '\n';
    for (const { lines, text } of linesOf(viewSeries(view, present.share, present.series))) {
      byMetric.set(name, (byMetric.get(name) ?? 0) + lines);
      yield text;
    }
  }
  if (watch !== undefined) yield separator + ownText(view, watch, byMetric);
}

/** Returns the metrics about the number of series. They come last, because they count all other series. */
function ownText(view: MetricsView, { size, scraped }: SeriesWatch, byMetric: ReadonlyMap<string, number>): string {
  const budget = view === 'budget' ? seriesBudget(size()) : undefined;
  const others = [...byMetric.values()].reduce((sum, count) => sum + count, 0);
  const series = others + (budget === undefined ? 1 : 2);
  scraped({ series, budget, byMetric });
  const ownSeries = gaugeText(METRICS_SERIES, series);
  return budget === undefined ? ownSeries : `${ownSeries}\n${gaugeText(METRICS_SERIES_BUDGET, budget)}`;
}

const gaugeText = ({ name, help, type }: GaugeDeclaration, value: number): string =>
  headOf({ name, help, type }) + lineText({ name, labels: {}, value });

const headOf = ({ name, help, type }: Pick<MetricState, 'name' | 'help' | 'type'>): string =>
  `# HELP ${name} ${helpText(help)}\n# TYPE ${name} ${type}\n`;

/** Number of lines in one part. */
const LINES = 50;

function* linesOf(
  series: Iterable<Series | typeof PAUSE>,
): Generator<{ readonly lines: number; readonly text: string }> {
  let text = '';
  let lines = 0;
  for (const each of series) {
    if (each !== PAUSE) {
      text += lineText(each);
      lines++;
    }
    if (each !== PAUSE && lines < LINES) continue;
    yield { lines, text };
    text = '';
    lines = 0;
  }
  if (lines > 0) yield { lines, text };
}

/** Number of metrics in the log line about the largest metrics. */
const NAMED = 3;

/**
 * Creates a report function. It logs when scrapes start to exceed their budget of series, and again only after scrapes were
 * within the budget.
 */
export function reportSeries(log: Logger): (count: ScrapeCount) => void {
  let isOver = false;
  return ({ series, budget, byMetric }) => {
    const before = isOver;
    isOver = budget !== undefined && series > budget;
    if (!isOver || before) return;
    const largest = [...byMetric].sort(([, a], [, b]) => b - a).slice(0, NAMED);
    log.error('metrics have more series than their budget', {
      error: `${series} series exceed the budget of ${budget}; all series are served`,
      largest: largest.map(([name, count]) => `${name}: ${count}`),
      remedy: 'drop unneeded series with metricRelabelings of the ServiceMonitor',
    });
  };
}
