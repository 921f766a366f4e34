/** Metrics of controllers, their queues and the API server client, with the names that dashboards of controllers use. */
import { counter, DURATION_BUCKETS, gauge, histogram, NO_BUCKETS } from './declaration.ts';

/** Ten microseconds to a thousand seconds, in powers of ten. */
const QUEUE_BUCKETS = Array.from({ length: 9 }, (_, index) => 10 ** (index - 5));
/** 20 buckets from one millisecond. Each bucket is 1.5 times the previous bucket. */
const REQUEST_BUCKETS = Array.from({ length: 20 }, (_, index) => 0.001 * 1.5 ** index);
/** Every fifth bucket, from 5 ms to 2.2 s. */
const SHOWN_REQUEST_BUCKETS = REQUEST_BUCKETS.filter((_, index) => index % 5 === 4);
/** Labels of queue metrics. Both labels have the same value, because different dashboards use different labels. */
const QUEUE_LABELS = ['name', 'controller'] as const;

export const LEADER_ELECTION_MASTER_STATUS = gauge({
  name: 'leader_election_master_status',
  help: '1 if this process is the leader, 0 otherwise',
  labels: ['name'],
});

export const API_SERVER_CLOCK_SKEW_SECONDS = gauge({
  name: 'karpenter_api_server_clock_skew_seconds',
  help: "Time by which the clock of the operator's machine is ahead of the API server's clock; negative if it is behind",
});

export const WATCH_AGE_SECONDS = gauge({
  name: 'karpenter_watch_age_seconds',
  help: 'Time since the watch of a resource last delivered an event, a bookmark or its end. Above 60, voluntary disruption pauses',
  labels: ['resource'],
});

export const WORKQUEUE_ADDS = counter({
  name: 'workqueue_adds_total',
  help: 'Keys added to the queue',
  labels: QUEUE_LABELS,
});

export const WORKQUEUE_DEPTH = gauge({
  name: 'workqueue_depth',
  help: 'Keys that wait in the queue',
  labels: QUEUE_LABELS,
});

export const WORKQUEUE_RETRIES = counter({
  name: 'workqueue_retries_total',
  help: 'Keys that were requeued after a failure',
  labels: QUEUE_LABELS,
});

export const WORKQUEUE_QUEUE_DURATION_SECONDS = histogram({
  name: 'workqueue_queue_duration_seconds',
  help: 'Time for which a key waited',
  labels: QUEUE_LABELS,
  buckets: QUEUE_BUCKETS,
  share: { kind: 'buckets', buckets: [0.1, 1, 10, 100] },
});

export const WORKQUEUE_WORK_DURATION_SECONDS = histogram({
  name: 'workqueue_work_duration_seconds',
  help: 'Processing time of a key',
  labels: QUEUE_LABELS,
  buckets: QUEUE_BUCKETS,
  // `controller_runtime_reconcile_time_seconds` has buckets for the same work
  share: NO_BUCKETS,
});

export const WORKQUEUE_UNFINISHED_WORK_SECONDS = gauge({
  name: 'workqueue_unfinished_work_seconds',
  help: 'Total time of current work',
  labels: QUEUE_LABELS,
});

export const WORKQUEUE_LONGEST_RUNNING_PROCESSOR_SECONDS = gauge({
  name: 'workqueue_longest_running_processor_seconds',
  help: 'Time of the longest current work',
  labels: QUEUE_LABELS,
});

export const CLIENT_GO_REQUEST = counter({
  name: 'client_go_request_total',
  help: 'Requests to the API server',
  labels: ['code', 'method'],
});

export const CLIENT_GO_REQUEST_DURATION_SECONDS = histogram({
  name: 'client_go_request_duration_seconds',
  help: 'Duration of requests to the API server until the start of the response',
  labels: ['verb', 'group', 'version', 'kind', 'subresource'],
  buckets: REQUEST_BUCKETS,
  share: { kind: 'buckets', buckets: SHOWN_REQUEST_BUCKETS },
});

export const CONTROLLER_RUNTIME_RECONCILE = counter({
  name: 'controller_runtime_reconcile_total',
  help: 'Reconciles by result',
  labels: ['controller', 'result'],
});

export const CONTROLLER_RUNTIME_RECONCILE_ERRORS = counter({
  name: 'controller_runtime_reconcile_errors_total',
  help: 'Reconciles that failed',
  labels: ['controller'],
});

export const CONTROLLER_RUNTIME_RECONCILE_PANICS = counter({
  name: 'controller_runtime_reconcile_panics_total',
  help: 'Failed reconciles because of a defect',
  labels: ['controller'],
});

export const CONTROLLER_RUNTIME_RECONCILE_TIMEOUTS = counter({
  name: 'controller_runtime_reconcile_timeouts_total',
  help: 'Failed reconciles because of a time-out of AWS or the API server',
  labels: ['controller'],
  // `client_go_request_duration_seconds` and `aws_sdk_go_request_duration_seconds` show the slow calls
  share: { kind: 'sum', over: ['controller'] },
});

export const CONTROLLER_RUNTIME_TERMINAL_RECONCILE_ERRORS = counter({
  name: 'controller_runtime_terminal_reconcile_errors_total',
  help: 'Failed reconciles that are not retried. Always 0, because each is retried',
  labels: ['controller'],
  share: { kind: 'none' },
});

export const CONTROLLER_RUNTIME_ACTIVE_WORKERS = gauge({
  name: 'controller_runtime_active_workers',
  help: 'Current reconciles',
  labels: ['controller'],
  // `workqueue_depth` and `workqueue_unfinished_work_seconds` show the controller that has too few workers
  share: { kind: 'sum', over: ['controller'] },
});

export const CONTROLLER_RUNTIME_MAX_CONCURRENT_RECONCILES = gauge({
  name: 'controller_runtime_max_concurrent_reconciles',
  help: 'Maximum number of concurrent reconciles',
  labels: ['controller'],
  share: { kind: 'sum', over: ['controller'] },
});

export const CONTROLLER_RUNTIME_RECONCILE_TIME_SECONDS = histogram({
  name: 'controller_runtime_reconcile_time_seconds',
  help: 'Duration of reconciles',
  labels: ['controller'],
  buckets: DURATION_BUCKETS.filter((bucket) => bucket <= 60),
  // There are very many controllers. `workqueue_longest_running_processor_seconds` shows a controller that is stuck.
  share: { kind: 'buckets', buckets: [0.1, 1, 10] },
});
