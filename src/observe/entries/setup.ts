export { createLogger } from '../create-logger.ts';
export { createMetrics } from '../metrics.ts';
export { reportSeries } from '../scrape.ts';
