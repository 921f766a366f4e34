/** The `controller_runtime_*` metrics, under the names that dashboards of controllers know. */
import { DURATION_BUCKETS, type Metrics } from '../observe/metrics.ts';

export type Result = 'success' | 'error' | 'requeue' | 'requeue_after';

export interface ReconcileMeter {
  /** Answers the function to call with the result. */
  started(): (result: Result) => void;
}

export function reconcileMeter(metrics: Metrics, controller: string, concurrency: number): ReconcileMeter {
  const labels = { controller };
  const total = metrics.counter('controller_runtime_reconcile_total', 'Reconciles by result', ['controller', 'result']);
  const errors = metrics.counter('controller_runtime_reconcile_errors_total', 'Reconciles that failed', ['controller']);
  const active = metrics.gauge('controller_runtime_active_workers', 'Reconciles in hand', ['controller']);
  const most = metrics.gauge(
    'controller_runtime_max_concurrent_reconciles',
    'Most reconciles that may be in hand at a time',
    ['controller'],
  );
  const time = metrics.histogram(
    'controller_runtime_reconcile_time_seconds',
    'Duration of reconciles',
    ['controller'],
    DURATION_BUCKETS.filter((bucket) => bucket <= 60),
  );
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
