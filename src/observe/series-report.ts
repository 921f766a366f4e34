/** Logs when scrapes come to have more series than their budget, once until they have fewer again. */
import type { Logger } from './logger.ts';
import type { ScrapeCount } from './scrape.ts';

/** Metrics with the most series that the log names. */
const NAMED = 3;

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
