/** The `controller_runtime_*` metrics, with the names that dashboards of controllers use. */
import {
  CONTROLLER_RUNTIME_ACTIVE_WORKERS,
  CONTROLLER_RUNTIME_MAX_CONCURRENT_RECONCILES,
  CONTROLLER_RUNTIME_RECONCILE,
  CONTROLLER_RUNTIME_RECONCILE_ERRORS,
  CONTROLLER_RUNTIME_RECONCILE_PANICS,
  CONTROLLER_RUNTIME_RECONCILE_TIME_SECONDS,
  CONTROLLER_RUNTIME_RECONCILE_TIMEOUTS,
  CONTROLLER_RUNTIME_TERMINAL_RECONCILE_ERRORS,
  type Metrics,
} from '#observe/metrics';

type Result = 'success' | 'error' | 'requeue' | 'requeue_after';

interface ReconcileMeter {
  /** Starts a measurement. Call the returned function with the result, and with the error if the reconcile failed. */
  started(): (result: Result, error?: unknown) => void;
}

/** Yields the error, its causes, and the members of an AggregateError. */
function* errorsIn(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  yield* errorsIn(error.cause);
  if (error instanceof AggregateError) for (const each of error.errors) yield* errorsIn(each);
}

/**
 * Returns true if a value is missing or has an unexpected type. A TypeError with a cause is a failure of `fetch`, not a defect.
 */
const isDefect = (error: Error): boolean =>
  (error instanceof TypeError || error instanceof ReferenceError) && error.cause === undefined;

/** Returns true for a timeout. Depending on its type, an error indicates this by its name or by a field. */
const isTimeout = (error: Error): boolean =>
  error.name === 'TimeoutError' || ('isTimeout' in error && error.isTimeout === true);

export function reconcileMeter(metrics: Metrics, controller: string, concurrency: number): ReconcileMeter {
  const labels = { controller };
  const total = metrics.counter(CONTROLLER_RUNTIME_RECONCILE);
  const errors = metrics.counter(CONTROLLER_RUNTIME_RECONCILE_ERRORS);
  const active = metrics.gauge(CONTROLLER_RUNTIME_ACTIVE_WORKERS);
  const most = metrics.gauge(CONTROLLER_RUNTIME_MAX_CONCURRENT_RECONCILES);
  const time = metrics.histogram(CONTROLLER_RUNTIME_RECONCILE_TIME_SECONDS);
  most.set(labels, concurrency);
  active.set(labels, 0);
  const panics = metrics.counter(CONTROLLER_RUNTIME_RECONCILE_PANICS);
  const timeouts = metrics.counter(CONTROLLER_RUNTIME_RECONCILE_TIMEOUTS);
  const terminal = metrics.counter(CONTROLLER_RUNTIME_TERMINAL_RECONCILE_ERRORS);
  for (const counter of [errors, panics, timeouts, terminal]) counter.inc(labels, 0);
  // most controllers never requeue without a delay
  for (const result of ['success', 'error', 'requeue_after']) total.inc({ controller, result }, 0);

  return {
    started: () => {
      const startedMs = performance.now();
      active.inc(labels);
      return (result, error) => {
        active.dec(labels);
        total.inc({ controller, result });
        if (result === 'error') {
          errors.inc(labels);
          const causes = [...errorsIn(error)];
          if (causes.some(isDefect)) panics.inc(labels);
          if (causes.some(isTimeout)) timeouts.inc(labels);
        }
        time.observe(labels, (performance.now() - startedMs) / 1_000);
      };
    },
  };
}
