/** The `workqueue_*` metrics, under the names and labels that dashboards of controllers know. */
import type { Metrics } from '../observe/metrics.ts';
import { monotonicMs, type Timepiece } from './clock.ts';

/** Told what a queue does. */
export interface QueueMeter {
  added(key: string): void;
  started(key: string): void;
  finished(key: string): void;
  retried(): void;
}

/** Ten microseconds to a thousand seconds, in powers of ten. */
const BUCKETS = Array.from({ length: 9 }, (_, index) => 10 ** (index - 5));
const LABELS = ['name', 'controller'];

export function queueMeter(metrics: Metrics, clock: Timepiece, controller: string): QueueMeter {
  const labels = { name: controller, controller };
  const adds = metrics.counter('workqueue_adds_total', 'Keys added to the queue', LABELS);
  const depth = metrics.gauge('workqueue_depth', 'Keys that wait in the queue', LABELS);
  const retries = metrics.counter('workqueue_retries_total', 'Keys that were put back after a failure', LABELS);
  const waited = metrics.histogram('workqueue_queue_duration_seconds', 'Time a key waited', LABELS, BUCKETS);
  const worked = metrics.histogram('workqueue_work_duration_seconds', 'Time the work on a key took', LABELS, BUCKETS);
  const unfinished = metrics.gauge('workqueue_unfinished_work_seconds', 'Sum of the time of work in hand', LABELS);
  const longest = metrics.gauge(
    'workqueue_longest_running_processor_seconds',
    'Time of the longest work in hand',
    LABELS,
  );
  const addedMs = new Map<string, number>();
  const startedMs = new Map<string, number>();

  adds.inc(labels, 0);
  retries.inc(labels, 0);
  metrics.beforeScrape(() => {
    const nowMs = monotonicMs(clock);
    const ages = [...startedMs.values()].map((since) => (nowMs - since) / 1_000);
    depth.set(labels, addedMs.size);
    unfinished.set(
      labels,
      ages.reduce((sum, age) => sum + age, 0),
    );
    longest.set(labels, Math.max(0, ...ages));
  });

  return {
    added: (key) => {
      adds.inc(labels);
      addedMs.set(key, monotonicMs(clock));
    },
    started: (key) => {
      const nowMs = monotonicMs(clock);
      waited.observe(labels, (nowMs - (addedMs.get(key) ?? nowMs)) / 1_000);
      addedMs.delete(key);
      startedMs.set(key, nowMs);
    },
    finished: (key) => {
      const nowMs = monotonicMs(clock);
      worked.observe(labels, (nowMs - (startedMs.get(key) ?? nowMs)) / 1_000);
      startedMs.delete(key);
    },
    retried: () => retries.inc(labels),
  };
}
