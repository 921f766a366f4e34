/** Metrics of an operator of whom nobody asks any: they take everything, and keep nothing. */
import { expect, it } from '@jest/globals';
import { counter, gauge, histogram, summary } from '../../../src/observe/metrics/declaration.ts';
import { createMetrics } from '../../../src/observe/metrics.ts';

const about = (name: string) => ({ name, help: 'x', labels: ['kind'] as const });

it.each([
  [true, 14],
  [false, 0],
])('keep what they are told when they are served (%s)', async (isServed, series) => {
  const metrics = createMetrics({ isServed });
  metrics.counter(counter(about('a_total'))).inc({ kind: 'x' });
  const level = metrics.gauge(gauge(about('b')));
  level.inc({ kind: 'x' });
  level.dec({ kind: 'x' });
  level.set({ kind: 'x' }, 3);
  level.remove({ kind: 'y' });
  const time = metrics.histogram(histogram({ ...about('c_seconds'), buckets: [1, 2] }));
  time.observe({ kind: 'x' }, 1);
  time.startTimer({ kind: 'x' })();
  metrics.summary(summary(about('d_seconds'))).observe({ kind: 'x' }, 1);
  const states = await Promise.all(['a_total', 'b', 'c_seconds', 'd_seconds'].map((name) => metrics.state(name)));
  expect(states.flatMap((state) => [...(state?.series ?? [])])).toHaveLength(series);
});
