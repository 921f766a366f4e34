import { describe, expect, it } from '@jest/globals';
import { reportSeries } from '../../../src/observe/scrape.ts';
import { recordingLog } from '../kube/fakes.ts';

describe('the report of too many series', () => {
  const byMetric = new Map([
    ['small', 1],
    ['large', 5_000],
  ]);

  it('is logged once until the number falls, and names the largest metrics and a remedy', () => {
    const { log, lines } = recordingLog();
    const report = reportSeries(log);
    for (const series of [3_000, 5_001, 5_002, 3_000, 5_003]) report({ series, budget: 3_000, byMetric });
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatchObject({
      level: 'error',
      message: 'metrics have more series than their budget',
      fields: {
        error: '5001 series exceed the budget of 3000; all series are served',
        largest: ['large: 5000', 'small: 1'],
        remedy: expect.stringContaining('metricRelabelings'),
      },
    });
  });

  it('is not logged if there is no budget', () => {
    const { log, lines } = recordingLog();
    reportSeries(log)({ series: 100_000, budget: undefined, byMetric });
    expect(lines).toEqual([]);
  });
});
