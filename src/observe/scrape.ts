/** A scrape: every metric as the view serves it, in Prometheus' text format, written in small steps. */

import type { Logger } from './logger.ts';
import { isServed, type MetricsView, PAUSE, seriesBudget, viewed } from './metric-views.ts';
import type { GaugeDeclaration, Share } from './metrics/declaration.ts';
import { METRICS_SERIES, METRICS_SERIES_BUDGET } from './metrics/process.ts';
import { helpText, lineText, type Series } from './samples.ts';

/** What there is of a metric now, whatever the view serves of it. */
export interface MetricState {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly share: Share | undefined;
  /** Read one after the other as they are asked for. */
  readonly series: Iterable<Series>;
}

/** A scrape, to who watches over the number of series. */
interface ScrapeCount {
  readonly series: number;
  /** Undefined where there is none, as in the view `karpenter`. */
  readonly budget: number | undefined;
  readonly byMetric: ReadonlyMap<string, number>;
}

export interface SeriesWatch {
  /** Nodes of the cluster, by which the budget grows. */
  readonly nodes: () => number;
  readonly scraped: (count: ScrapeCount) => void;
}

interface ScrapeOptions {
  readonly view: MetricsView;
  readonly names: () => readonly string[];
  readonly state: (name: string) => Promise<MetricState | undefined>;
  /** Called, and waited for, at the start. */
  readonly updates: readonly (() => void | Promise<void>)[];
  readonly watch: SeriesWatch | undefined;
}

/** In pieces, of which none takes long to make; some are empty. */
export async function* scrape({ view, names, state, updates, watch }: ScrapeOptions): AsyncGenerator<string> {
  await Promise.all(updates.map((update) => update()));
  const byMetric = new Map<string, number>();
  let separator = '';
  for (const name of names()) {
    const present = await state(name);
    if (present === undefined || !isServed(view, present.share)) continue;
    yield separator + headOf(present);
    separator = '\n';
    for (const { lines, text } of linesOf(viewed(view, present.share, present.series))) {
      byMetric.set(name, (byMetric.get(name) ?? 0) + lines);
      yield text;
    }
  }
  if (watch !== undefined) yield separator + ownText(view, watch, byMetric);
}

/** Comes last, because it counts the others. */
function ownText(view: MetricsView, { nodes, scraped }: SeriesWatch, byMetric: ReadonlyMap<string, number>): string {
  const budget = view === 'budget' ? seriesBudget(nodes()) : undefined;
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

/** Lines that are written at once. */
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

/** Metrics with the most series that the log names. */
const NAMED = 3;

/** Logs once when scrapes exceed their budget of series, and again after they have been within it. */
export function reportSeries(log: Logger): (count: ScrapeCount) => void {
  let isOver = false;
  return ({ series, budget, byMetric }) => {
    const before = isOver;
    isOver = budget !== undefined && series > budget;
    if (!isOver || before) return;
    const largest = [...byMetric].sort(([, a], [, b]) => b - a).slice(0, NAMED);
    log.error('metrics have more series than their budget', {
      error: `${series} series, the budget is ${budget}; all are served`,
      largest: largest.map(([name, count]) => `${name}: ${count}`),
      remedy: 'drop what is not needed by metricRelabelings of the ServiceMonitor',
    });
  };
}
