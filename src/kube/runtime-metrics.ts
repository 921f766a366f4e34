/** The `controller_runtime_*` metrics, under the names that dashboards of controllers know. */
import {
  CONTROLLER_RUNTIME_ACTIVE_WORKERS,
  CONTROLLER_RUNTIME_MAX_CONCURRENT_RECONCILES,
  CONTROLLER_RUNTIME_RECONCILE,
  CONTROLLER_RUNTIME_RECONCILE_ERRORS,
  CONTROLLER_RUNTIME_RECONCILE_TIME_SECONDS,
} from '../observe/metrics/kube.ts';
import type { Metrics } from '../observe/metrics.ts';

export type Result = 'success' | 'error' | 'requeue' | 'requeue_after';

export interface ReconcileMeter {
  /** Answers the function to call with the result. */
  started(): (result: Result) => void;
}

export function reconcileMeter(metrics: Metrics, controller: string, concurrency: number): ReconcileMeter {
  const labels = { controller };
  const total = metrics.counter(CONTROLLER_RUNTIME_RECONCILE);
  const errors = metrics.counter(CONTROLLER_RUNTIME_RECONCILE_ERRORS);
  const active = metrics.gauge(CONTROLLER_RUNTIME_ACTIVE_WORKERS);
  const most = metrics.gauge(CONTROLLER_RUNTIME_MAX_CONCURRENT_RECONCILES);
  const time = metrics.histogram(CONTROLLER_RUNTIME_RECONCILE_TIME_SECONDS);
  most.set(labels, concurrency);
  active.set(labels, 0);
  errors.inc(labels, 0);
  for (const result of ['success', 'error', 'requeue', 'requeue_after']) total.inc({ controller, result }, 0);

  return {
    started: () => {
      const startedMs = performance.now();
      active.inc(labels);
      return (result) => {
        active.dec(labels);
        total.inc({ controller, result });
        if (result === 'error') errors.inc(labels);
        time.observe(labels, (performance.now() - startedMs) / 1_000);
      };
    },
  };
}
