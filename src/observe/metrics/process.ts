/** Metrics of the process: its threads, its memory and its ports. */
import { counter, gauge } from './declaration.ts';

export const BUILD_INFO = gauge({
  name: 'karpenter_build_info',
  help: '1, with the version, the version of Node.js as `goversion`, the processor architecture, and the source revision',
  labels: ['version', 'goversion', 'goarch', 'commit'],
});

export const ENGINE_WORKER_RESTARTS = counter({
  name: 'karpenter_engine_worker_restarts_total',
  help: 'Engine workers that ended unexpectedly, by reason',
  labels: ['worker', 'reason'],
});

export const HTTP_REFUSED = counter({
  name: 'karpenter_http_refused_total',
  help: 'Rejected requests and connections, by port and reason',
  labels: ['port', 'reason'],
});

export const MEMORY_LIMIT_BYTES = gauge({
  name: 'karpenter_memory_limit_bytes',
  help: 'Memory limit of the operator',
});

export const MEMORY_NEAR_LIMIT = gauge({
  name: 'karpenter_memory_near_limit',
  help: '1 if the memory in use is near the limit, 0 otherwise',
});

export const MEMORY_PRESSURE = gauge({
  name: 'karpenter_memory_pressure',
  help: 'Stage of memory pressure: 0 if memory is sufficient, 1 if it is short, 2 if it is nearly full',
});

export const PAUSED = gauge({
  name: 'karpenter_paused',
  help: '1 while a pause stops launches or disruption, by scope, 0 otherwise',
  labels: ['scope'],
});

export const OBSERVED_DECISIONS = counter({
  name: 'karpenter_observed_decisions_total',
  help: 'Decisions on nodes of observed NodePools, which are not carried out: launch, delete or replace',
  labels: ['nodepool', 'decision', 'reason'],
});

export const NODEJS_THREAD_HEAP_USED_BYTES = gauge({
  name: 'nodejs_thread_heap_used_bytes',
  help: "Used part of the thread's heap",
  labels: ['thread'],
});

export const NODEJS_THREAD_HEAP_TOTAL_BYTES = gauge({
  name: 'nodejs_thread_heap_total_bytes',
  help: "Size of the thread's heap",
  labels: ['thread'],
});

export const NODEJS_THREAD_HEAP_LIMIT_BYTES = gauge({
  name: 'nodejs_thread_heap_limit_bytes',
  help: "Maximum size of the thread's heap",
  labels: ['thread'],
});

export const NODEJS_THREAD_EVENT_LOOP_ACTIVE_SECONDS = counter({
  name: 'nodejs_thread_event_loop_active_seconds_total',
  help: 'Time for which the event loop of the thread was busy',
  labels: ['thread'],
});

export const NODEJS_THREAD_GC = counter({
  name: 'nodejs_thread_gc_total',
  help: 'Garbage collections of the thread',
  labels: ['thread'],
});

export const NODEJS_THREAD_GC_SECONDS = counter({
  name: 'nodejs_thread_gc_seconds_total',
  help: 'Time in garbage collections of the thread',
  labels: ['thread'],
});

export const METRICS_SERIES = gauge({
  name: 'karpenter_metrics_series',
  help: 'Series of this scrape, including this metric and its budget',
});

export const METRICS_SERIES_BUDGET = gauge({
  name: 'karpenter_metrics_series_budget',
  help: 'Maximum number of series of a scrape for this cluster size, unless METRICS=karpenter',
});
