/** Metric of the sources of devices. */
import { DEVICE_TEMPLATES } from '#observe/metrics';
import type { DeviceSources, SourceCount } from '#state';
import type { Deps } from '../deps.ts';

/** Maximum number of series, because users choose the names of drivers. */
const MOST_SERIES = 50;

/** Counts the instance types with known devices at each scrape. */
export function reportSources(
  sources: Pick<DeviceSources, 'counts'>,
  { cluster, metrics }: Pick<Deps, 'cluster' | 'metrics'>,
): void {
  const templates = metrics.gauge(DEVICE_TEMPLATES);
  metrics.beforeScrape(() => {
    templates.reset();
    const counts = cluster.stores.nodePools.list().flatMap(({ metadata }) => sources.counts(metadata.name));
    const groups = Map.groupBy(counts, ({ driver, source }) => `${driver} ${source}`);
    for (const [, own] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, MOST_SERIES)) {
      const [{ driver, source }] = own as [SourceCount];
      templates.set(
        { driver, source },
        own.reduce((sum, { types }) => sum + types, 0),
      );
    }
  });
}
