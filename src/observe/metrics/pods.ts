/** Metrics of pods: where they are, how long they wait, and how they leave draining nodes. */
import { counter, gauge, histogram, summary } from './declaration.ts';
import { DISRUPTED_LABELS } from './nodeclaims.ts';

const POD_LABELS = ['name', 'namespace'] as const;

export const PODS_DISRUPTION_INITIATED = counter({
  name: 'karpenter_pods_disruption_initiated_total',
  help: 'Pods that must be moved because their node is disrupted',
  labels: DISRUPTED_LABELS,
});

export const PODS_SURGES = counter({
  name: 'karpenter_pods_surges_total',
  help: 'Restarts of Deployments before the eviction of their only ready pod, and evictions without a new ready pod, by outcome',
  labels: ['outcome'],
});

export const PODS_STATE = gauge({
  name: 'karpenter_pods_state',
  help: 'Pods, 1 each',
  labels: [
    'name',
    'namespace',
    'owner',
    'node',
    'scheduled',
    'nodepool',
    'zone',
    'arch',
    'capacity_type',
    'instance_type',
    'phase',
    'ready',
    'managed',
  ],
  share: { kind: 'sum', over: ['name', 'namespace', 'owner', 'node'] },
});

export const PODS_UNSTARTED_TIME_SECONDS = gauge({
  name: 'karpenter_pods_unstarted_time_seconds',
  help: 'Age of pods that are not ready yet',
  labels: POD_LABELS,
  share: { kind: 'max', over: ['name'] },
});

export const PODS_STARTUP_DURATION_SECONDS = summary({
  name: 'karpenter_pods_startup_duration_seconds',
  help: 'Time from the creation of pods until they were ready',
});

export const PODS_UNBOUND_TIME_SECONDS = gauge({
  name: 'karpenter_pods_unbound_time_seconds',
  help: 'Age of pods that are not bound yet',
  labels: POD_LABELS,
  share: { kind: 'max', over: ['name'] },
});

export const PODS_BOUND_DURATION_SECONDS = histogram({
  name: 'karpenter_pods_bound_duration_seconds',
  help: 'Time from the creation of pods until they were bound',
});

export const PODS_PROVISIONING_UNSTARTED_TIME_SECONDS = gauge({
  name: 'karpenter_pods_provisioning_unstarted_time_seconds',
  help: 'Time since the scheduling decision for pods that are not ready',
  labels: POD_LABELS,
  share: { kind: 'max', over: ['name'] },
});

export const PODS_PROVISIONING_STARTUP_DURATION_SECONDS = histogram({
  name: 'karpenter_pods_provisioning_startup_duration_seconds',
  help: 'Time from the scheduling decision for pods until they were ready',
});

export const PODS_PROVISIONING_UNBOUND_TIME_SECONDS = gauge({
  name: 'karpenter_pods_provisioning_unbound_time_seconds',
  help: 'Time since the scheduling decision for pods that are not bound',
  labels: POD_LABELS,
  share: { kind: 'max', over: ['name'] },
});

export const PODS_PROVISIONING_BOUND_DURATION_SECONDS = histogram({
  name: 'karpenter_pods_provisioning_bound_duration_seconds',
  help: 'Time from the scheduling decision for pods until they were bound',
});

export const PODS_PROVISIONING_SCHEDULING_UNDECIDED_TIME_SECONDS = gauge({
  name: 'karpenter_pods_provisioning_scheduling_undecided_time_seconds',
  help: 'Time since the first observation of pods without a scheduling decision',
  labels: POD_LABELS,
  share: { kind: 'max', over: ['name'] },
});

export const PODS_EVICTION_REQUESTS = counter({
  name: 'karpenter_pods_eviction_requests_total',
  help: 'Responses of the Eviction API',
  labels: ['code'],
});

export const PODS_DRAINED = counter({
  name: 'karpenter_pods_drained_total',
  help: 'Pods that were evicted or deleted from draining nodes',
  labels: ['reason'],
});

export const PODS_SCHEDULING_DECISION_DURATION_SECONDS = histogram({
  name: 'karpenter_pods_scheduling_decision_duration_seconds',
  help: 'Time from the first observation of a pod to the first scheduling decision',
});
