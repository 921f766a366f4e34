/** Every declaration of an event or a metric, by file, for the reference pages. */
export * as deviceEvents from '../events/devices.ts';
export * as disruptionEvents from '../events/disruption.ts';
export * as nodeClaimEvents from '../events/nodeclaims.ts';
export * as nodePoolEvents from '../events/nodepools.ts';
export * as nodeEvents from '../events/nodes.ts';
export * as podEvents from '../events/pods.ts';
export * as disruptionMetrics from '../metrics/disruption.ts';
export * as kubeMetrics from '../metrics/kube.ts';
export * as nodeClaimMetrics from '../metrics/nodeclaims.ts';
export * as nodePoolMetrics from '../metrics/nodepools.ts';
export * as nodeMetrics from '../metrics/nodes.ts';
export * as podMetrics from '../metrics/pods.ts';
export * as processMetrics from '../metrics/process.ts';
export * as schedulerMetrics from '../metrics/scheduler.ts';
export * as traceMetrics from '../metrics/traces.ts';
