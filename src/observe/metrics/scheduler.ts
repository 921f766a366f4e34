/** Metrics of provisioning's scheduling runs. */
import { counter, gauge, histogram } from './declaration.ts';

export const SCHEDULER_SCHEDULING_DURATION_SECONDS = histogram({
  name: 'karpenter_scheduler_scheduling_duration_seconds',
  help: 'Duration of scheduling runs and solves',
  labels: ['controller'],
});

export const SCHEDULER_UNPACKED_NODEPOOLS = counter({
  name: 'karpenter_scheduler_unpacked_nodepools_total',
  help: 'NodePools that kept the nodes of first-fit because packing reached a limit, counted once per solve',
  labels: ['reason'],
});

export const PROVISIONING_REQUESTS = counter({
  name: 'karpenter_provisioning_requests_total',
  help: 'ProvisioningRequests by reason of their last condition, counted when capacity is provided, refused for ever, or released',
  labels: ['class', 'reason'],
});

export const SCHEDULER_QUEUE_DEPTH = gauge({
  name: 'karpenter_scheduler_queue_depth',
  help: 'Pods of the current solve',
  labels: ['controller', 'scheduling_id'],
});

export const SCHEDULER_UNFINISHED_WORK_SECONDS = gauge({
  name: 'karpenter_scheduler_unfinished_work_seconds',
  help: 'Duration of the current solve',
  labels: ['controller', 'scheduling_id'],
});

export const SCHEDULER_PENDING_PODS_BY_EFFECTIVE_ZONE_COUNT = gauge({
  name: 'karpenter_scheduler_pending_pods_by_effective_zone_count',
  help: 'Pending pods by zone: the only possible zone, flexible or none',
  labels: ['controller', 'zone'],
});

export const SCHEDULER_PREFERENCES = gauge({
  name: 'karpenter_scheduler_preferences',
  help: 'Preferences with a price of pending pods in the last solve (outcome satisfied or relaxed)',
  labels: ['outcome'],
});

export const SCHEDULER_IGNORED_PODS_COUNT = gauge({
  name: 'karpenter_scheduler_ignored_pods_count',
  help: 'Pending pods that are not scheduled',
});

export const SCHEDULER_UNSCHEDULABLE_PODS_COUNT = gauge({
  name: 'karpenter_scheduler_unschedulable_pods_count',
  help: 'Unschedulable pods of the last run',
  labels: ['controller'],
});

export const SCHEDULER_DEVICE_ALLOCATION_DURATION_SECONDS = histogram({
  name: 'karpenter_scheduler_device_allocation_duration_seconds',
  help: 'Time of a solve for the allocation of devices, of solves with pods that claim devices',
  labels: ['controller'],
});

export const DEVICE_ALLOCATION_TIMEOUTS = counter({
  name: 'karpenter_device_allocation_timeouts_total',
  help: 'Pods for which the search for devices reached its limit of time or steps, counted once per solve',
});

export const DEVICE_TEMPLATES = gauge({
  name: 'karpenter_device_templates',
  help: 'Instance types of NodePools with known devices of new nodes (source declared, learned or static)',
  labels: ['driver', 'source'],
});
