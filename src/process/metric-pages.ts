/**
 * Content of `/debug/metrics`: all metrics with their number of series, or the series of the metric in `?name=`, one page at
 * a time. It includes each single series that the default view of `/metrics` omits or sums up.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { nearestName, quoted } from '#lib';
import { type Labels, type MetricState, type Metrics, type Series, type Share, valueText } from '#observe/metrics';
import { BadQuery } from './http-server.ts';

/** Maximum number of series on a page. */
export const PAGE = 1_000;

interface Described {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** Part that the default view of `/metrics` serves; absent if the view serves every series. */
  readonly share?: Share;
}

interface ListedMetric extends Described {
  readonly series: number;
}

interface MetricPage extends Described {
  readonly series: readonly ListedSeries[];
  /** Path of the next page; absent on the last one. */
  readonly next?: string;
}

interface ListedSeries {
  /** Name of the series, with a suffix in histograms and summaries. */
  readonly name: string;
  readonly labels: Labels;
  /** Text if the value is not finite. */
  readonly value: number | string;
}

/**
 * Returns all metrics, or one page of series if the query has a name.
 * @throws BadQuery if the name is not the name of a metric, or if the offset is not a number of series
 */
export async function metricPage(
  metrics: Pick<Metrics, 'names' | 'state'>,
  query: URLSearchParams,
): Promise<MetricPage | readonly ListedMetric[]> {
  const name = query.get('name');
  if (name === null) return list(metrics);
  const state = await metrics.state(name);
  if (state === undefined) throw new BadQuery(unknownName(name, metrics.names()));
  return pageOf(state, offsetIn(query));
}

async function list(metrics: Pick<Metrics, 'names' | 'state'>): Promise<readonly ListedMetric[]> {
  const listed: ListedMetric[] = [];
  for (const name of metrics.names()) {
    const state = await metrics.state(name);
    if (state === undefined) continue;
    let series = 0;
    for (const _ of state.series) series++;
    listed.push({ ...describeMetric(state), series });
    await nextTurn();
  }
  return listed;
}

const describeMetric = ({ name, type, help, share }: MetricState): Described => ({
  name,
  type,
  help,
  ...(share === undefined ? {} : { share }),
});

function pageOf(state: MetricState, offset: number): MetricPage {
  const end = offset + PAGE;
  const series: ListedSeries[] = [];
  let index = 0;
  for (const each of state.series) {
    const next = `/debug/metrics?name=${state.name}&offset=${end}`;
    if (index === end) return { ...describeMetric(state), series, next };
    if (index >= offset) series.push(listedSeries(each));
    index++;
  }
  return { ...describeMetric(state), series };
}

const listedSeries = ({ name, labels, own, value }: Series): ListedSeries => ({
  name,
  labels: { ...labels, ...own },
  value: Number.isFinite(value) ? value : valueText(value),
});

function offsetIn(query: URLSearchParams): number {
  const text = query.get('offset') ?? '0';
  const offset = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(offset)) return offset;
  throw new BadQuery(`offset: ${quoted(text)} is not a number of series, for example ${PAGE}`);
}

function unknownName(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? 'see /debug/metrics for all metrics' : `did you mean ${nearest}?`;
  return `name: unknown metric ${quoted(name)}, ${hint}`;
}
