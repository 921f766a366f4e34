/**
 * Views of metrics. The view `karpenter` serves all series. The default view `budget` serves the series that the declaration
 * permits (`Share`), so that a cluster of any size has a known number of series in Prometheus. For Prometheus, a label without a
 * value is equal to an absent label. The view `budget` omits such labels and the labels that it sums over.
 */

import type { Share } from './metrics/declaration.ts';
import type { Labels, Series } from './samples.ts';

export type MetricsView = 'budget' | 'karpenter';

export interface MeasuredSize {
  readonly nodes: number;
  readonly nodePools: number;
}

/** Returns the maximum number of series in the default view: 3,000 for 3 nodes of one NodePool, 19,949 for 1,000. */
export const seriesBudget = ({ nodes, nodePools }: MeasuredSize): number => 2_699 + 17 * nodes + 250 * nodePools;

/** Yielded if there is no output yet. The caller pauses before it reads on. */
export const PAUSE: unique symbol = Symbol('pause');

/** Number of series without output that are read without a pause. */
const READ_AT_ONCE = 100;

/** Returns true if the view serves any series of the metric. */
export const isServed = (view: MetricsView, share: Share | undefined): boolean =>
  view === 'karpenter' || share?.kind !== 'none';

/** Yields the series of a metric that the view serves. */
export function* viewSeries(
  view: MetricsView,
  share: Share | undefined,
  series: Iterable<Series>,
): Generator<Series | typeof PAUSE> {
  if (!isServed(view, share)) return;
  if (view === 'karpenter') yield* series;
  else if (share?.kind === 'sum' || share?.kind === 'max') yield* aggregate(share, series);
  else if (share?.kind === 'buckets') yield* omitDetails(withBuckets(share.buckets, series));
  else yield* omitDetails(series);
}

function* omitDetails(series: Iterable<Series>): Generator<Series | typeof PAUSE> {
  let count = 0;
  for (const each of series) {
    count++;
    if (!each.isDetail)
      yield { ...each, labels: each.own === undefined ? withValues(each.labels) : sharedWithValues(each.labels) };
    else if (count % READ_AT_ONCE === 0) yield PAUSE;
  }
}

function* withBuckets(buckets: readonly number[], series: Iterable<Series>): Generator<Series> {
  const bounds = new Set<unknown>([...buckets, '+Inf']);
  for (const each of series) if (each.labels.le === undefined || bounds.has(each.labels.le)) yield each;
}

function* aggregate(
  { kind, over }: Extract<Share, { readonly kind: 'sum' | 'max' }>,
  series: Iterable<Series>,
): Generator<Series | typeof PAUSE> {
  const dropped = new Set(over);
  const remaining = rememberingRest(dropped);
  const found = new Map<string, Series>();
  let count = 0;
  for (const { name, labels: all, own, value: one, isDetail } of series) {
    count++;
    if (count % READ_AT_ONCE === 0) yield PAUSE;
    if (isDetail) continue;
    const labels = own === undefined ? withValues(all, dropped) : { ...remaining(all), ...withValues(own, dropped) };
    const key = JSON.stringify(labels);
    const before = found.get(key)?.value;
    const value = kind === 'sum' ? one + (before ?? 0) : Math.max(one, before ?? one);
    found.set(key, { name, labels, value });
  }
  yield* found.values();
}

/** Labels with values, by the label object that the samples of an object share. The cached object is the same for all of them. */
const shared = new WeakMap<Labels, Labels>();

function sharedWithValues(labels: Labels): Labels {
  const known = shared.get(labels) ?? withValues(labels);
  shared.set(labels, known);
  return known;
}

function rememberingRest(dropped: ReadonlySet<string>): (labels: Labels) => Labels {
  const known = new WeakMap<Labels, Labels>();
  return (labels) => {
    const rest = known.get(labels) ?? withValues(labels, dropped);
    known.set(labels, rest);
    return rest;
  };
}

const NONE: ReadonlySet<string> = new Set();

function withValues(labels: Labels, without = NONE): Labels {
  const kept: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(labels)) if (value !== '' && !without.has(name)) kept[name] = value;
  return kept;
}
