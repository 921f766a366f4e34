/** Metrics of an operator that nobody scrapes. */
import type { Counter, Gauge, Histogram, Summary } from 'prom-client';
import type { Metrics } from '../../observe/metrics.ts';

const ignore = (): void => {};
/** Everything that is called on a metric of any type. */
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
