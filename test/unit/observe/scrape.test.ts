/**
 * Limits the work of a scrape in one turn of the event loop. The test counts samples, because time depends on the
 * machine.
 */
import { describe, expect, it } from '@jest/globals';
import { inSteps } from '#process/testing';
import { gauge } from '../../../src/observe/metrics/declaration.ts';
import { createMetrics } from '../../../src/observe/metrics.ts';

const LABELS = ['node', 'pool'] as const;
const SAMPLES = 20_000;
/** Metrics with one series per view. */
const METRICS = {
  written: { declaration: gauge({ name: 'test_written', help: 'Written', labels: LABELS }), isDetail: false },
  detail: { declaration: gauge({ name: 'test_detail', help: 'Left out', labels: LABELS }), isDetail: true },
  summed: {
    declaration: gauge({ name: 'test_sum', help: 'Sum', labels: LABELS, share: { kind: 'sum', over: ['node'] } }),
    isDetail: false,
  },
} as const;
const STEP = 100;

/** Number of samples read since the last reset. */
interface Work {
  samples: number;
  total: number;
}

function measuring(view: 'budget' | 'karpenter', only = Object.values(METRICS)) {
  const work: Work = { samples: 0, total: 0 };
  const metrics = createMetrics({ view });
  for (const { declaration, isDetail } of only) {
    metrics.readAtScrape(declaration, function* () {
      for (let node = 0; node < SAMPLES; node += 1) {
        work.samples += 1;
        work.total += 1;
        yield { labels: { node: `node-${node}`, pool: `pool-${node % 3}` }, value: 1, isDetail };
      }
    });
  }
  return { metrics, work };
}

describe.each(['budget', 'karpenter'] as const)('a scrape in the view %s', (view) => {
  it('reads few samples for each of its parts, including omitted and aggregated samples', async () => {
    const { metrics, work } = measuring(view);
    let longest = 0;
    for await (const _ of metrics.parts()) {
      longest = Math.max(longest, work.samples);
      work.samples = 0;
    }
    expect(work.total).toBe(3 * SAMPLES);
    expect(longest).toBeLessThanOrEqual(STEP);
  });

  it.each(Object.entries(METRICS))('reads a known number in a turn: %s', async (_, metric) => {
    const { metrics, work } = measuring(view, [metric]);
    let longest = 0;
    const count = (): void => {
      longest = Math.max(longest, work.samples);
      work.samples = 0;
    };
    const turn = (): void => {
      count();
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    // 20 microseconds per sample: 200 samples in 4 ms, and the rest of the current part
    await inSteps(metrics.parts(), () => work.total * 0.02);
    clearImmediate(next);
    count();
    expect(work.total).toBe(SAMPLES);
    expect(longest).toBeLessThanOrEqual(200 + STEP);
  });
});
