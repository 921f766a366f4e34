/** Metrics of nodes and of cluster state. */
import { WELL_KNOWN_LABELS } from '#api/objects';
import { counter, gauge, histogram, type Share, summary } from './declaration.ts';

/** Returns the metric label for a node label: the part after the slash. */
export const nodeLabelName = (label: string): string =>
  label
    .slice(label.indexOf('/') + 1)
    .toLowerCase()
    .replaceAll('-', '_');

/** Labels of gauges for individual nodes. */
export const NODE_LABELS: readonly string[] = [
  ...[...WELL_KNOWN_LABELS].map(nodeLabelName),
  'node_name',
  'phase',
  'managed',
];
const NODE_RESOURCE_LABELS: readonly string[] = [...NODE_LABELS, 'resource_type'];

/** One series for all nodes of a NodePool. */
const OF_A_NODEPOOL: Share = { kind: 'sum', over: NODE_LABELS.filter((label) => label !== 'nodepool') };

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LIFETIMES = [
  ...[15, 30, 45].map((minutes) => minutes * MINUTE),
  ...[1, 2, 4, 6, 8, 10, 12, 16, 20].map((hours) => hours * HOUR),
  ...[1, 2, 3, 5, 10, 15, 20, 25, 30].map((days) => days * DAY),
];

export const CLUSTER_STATE_NODE_COUNT = gauge({
  name: 'karpenter_cluster_state_node_count',
  help: 'Nodes in cluster state',
});

export const CLUSTER_STATE_SYNCED = gauge({
  name: 'karpenter_cluster_state_synced',
  help: '1 if cluster state is synced, 0 otherwise',
});

export const CLUSTER_STATE_UNSYNCED_TIME_SECONDS = gauge({
  name: 'karpenter_cluster_state_unsynced_time_seconds',
  help: 'Time since cluster state was last synced',
});

export const NODES_ALLOCATABLE = gauge({
  name: 'karpenter_nodes_allocatable',
  help: 'Allocatable resources of nodes',
  labels: NODE_RESOURCE_LABELS,
});

export const NODES_TOTAL_POD_REQUESTS = gauge({
  name: 'karpenter_nodes_total_pod_requests',
  help: 'Requests of the pods on nodes, including daemons',
  labels: NODE_RESOURCE_LABELS,
});

export const NODES_TOTAL_POD_LIMITS = gauge({
  name: 'karpenter_nodes_total_pod_limits',
  help: 'Limits of the pods on nodes, including daemons',
  labels: NODE_RESOURCE_LABELS,
  share: OF_A_NODEPOOL,
});

export const NODES_TOTAL_DAEMON_REQUESTS = gauge({
  name: 'karpenter_nodes_total_daemon_requests',
  help: 'Requests of the daemons on nodes',
  labels: NODE_RESOURCE_LABELS,
});

export const NODES_TOTAL_DAEMON_LIMITS = gauge({
  name: 'karpenter_nodes_total_daemon_limits',
  help: 'Limits of the daemons on nodes',
  labels: NODE_RESOURCE_LABELS,
  share: OF_A_NODEPOOL,
});

export const NODES_SYSTEM_OVERHEAD = gauge({
  name: 'karpenter_nodes_system_overhead',
  help: 'Resources of nodes that pods cannot use',
  labels: NODE_RESOURCE_LABELS,
  share: OF_A_NODEPOOL,
});

export const NODES_CURRENT_LIFETIME_SECONDS = gauge({
  name: 'karpenter_nodes_current_lifetime_seconds',
  help: 'Age of nodes',
  labels: NODE_LABELS,
});

export const CLUSTER_UTILIZATION_PERCENT = gauge({
  name: 'karpenter_cluster_utilization_percent',
  help: 'Requested part of the allocatable resources',
  labels: ['resource_type'],
});

export const NODES_DRAINED = counter({
  name: 'karpenter_nodes_drained_total',
  help: 'Drained nodes',
  labels: ['nodepool'],
});

export const INTERRUPTION_DRAINS = counter({
  name: 'karpenter_interruption_drains_total',
  help: 'Nodes that AWS interrupted, by outcome: drained before the end of the instance, or lost',
  labels: ['reason', 'outcome'],
});

export const NODES_TERMINATED = counter({
  name: 'karpenter_nodes_terminated_total',
  help: 'Terminated nodes',
  labels: ['nodepool', 'zone'],
});

export const NODES_TERMINATION_DURATION_SECONDS = summary({
  name: 'karpenter_nodes_termination_duration_seconds',
  help: 'Time from the deletion of a Node until its removal',
  labels: ['nodepool'],
});

export const NODES_LIFETIME_DURATION_SECONDS = histogram({
  name: 'karpenter_nodes_lifetime_duration_seconds',
  help: 'Time from the creation of a Node until its removal',
  labels: ['nodepool'],
  buckets: LIFETIMES,
});

export const NODES_CREATED = counter({
  name: 'karpenter_nodes_created_total',
  help: 'Nodes that joined the cluster for a NodeClaim',
  labels: ['nodepool', 'zone'],
});
