/** Metrics that discard all values, because a replay is not scraped. */
import type { Counter, Gauge, Histogram, Summary } from 'prom-client';
import type { Metrics } from '../../observe/metrics.ts';

const ignore = (): void => {};
/** Methods of metrics of all types. */
const metric = {
  inc: ignore,
  dec: ignore,
  set: ignore,
  remove: ignore,
  reset: ignore,
  observe: ignore,
  startTimer: () => () => 0,
};

export const noMetrics = (): Metrics => ({
  counter: () => metric as unknown as Counter<never>,
  gauge: () => metric as unknown as Gauge<never>,
  histogram: () => metric as unknown as Histogram<never>,
  summary: () => metric as unknown as Summary<never>,
  readAtScrape: ignore,
  beforeScrape: ignore,
  endSeries: async () => {},
  processDefaults: ignore,
  watchSeries: ignore,
  text: async () => '',
  async *parts() {},
  names: () => [],
  state: async () => undefined,
  contentType: 'text/plain',
});
