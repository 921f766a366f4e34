/** The `workqueue_*` metrics, with the names and labels that dashboards of controllers use. */

import { monotonicMs, type Timepiece } from '#lib/clock';
import {
  type Metrics,
  WORKQUEUE_ADDS,
  WORKQUEUE_DEPTH,
  WORKQUEUE_LONGEST_RUNNING_PROCESSOR_SECONDS,
  WORKQUEUE_QUEUE_DURATION_SECONDS,
  WORKQUEUE_RETRIES,
  WORKQUEUE_UNFINISHED_WORK_SECONDS,
  WORKQUEUE_WORK_DURATION_SECONDS,
} from '#observe/metrics';

/** Receives the state changes of a queue. */
export interface QueueMeter {
  added(key: string): void;
  started(key: string): void;
  finished(key: string): void;
  retried(): void;
}

export function queueMeter(metrics: Metrics, clock: Timepiece, controller: string): QueueMeter {
  const labels = { name: controller, controller };
  const adds = metrics.counter(WORKQUEUE_ADDS);
  const depth = metrics.gauge(WORKQUEUE_DEPTH);
  const retries = metrics.counter(WORKQUEUE_RETRIES);
  const waited = metrics.histogram(WORKQUEUE_QUEUE_DURATION_SECONDS);
  const worked = metrics.histogram(WORKQUEUE_WORK_DURATION_SECONDS);
  const unfinished = metrics.gauge(WORKQUEUE_UNFINISHED_WORK_SECONDS);
  const longest = metrics.gauge(WORKQUEUE_LONGEST_RUNNING_PROCESSOR_SECONDS);
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
