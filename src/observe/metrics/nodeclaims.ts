/** Metrics of NodeClaims. */
import { counter, histogram, powersOfTwo } from './declaration.ts';

export const DISRUPTED_LABELS = [
  'reason',
  'nodepool',
  'capacity_type',
  'consolidation_policy',
  'termination_mode',
] as const;

export const NODECLAIMS_DISRUPTED = counter({
  name: 'karpenter_nodeclaims_disrupted_total',
  help: 'Disrupted NodeClaims',
  labels: DISRUPTED_LABELS,
});

export const NODECLAIMS_CREATED = counter({
  name: 'karpenter_nodeclaims_created_total',
  help: 'NodeClaims created',
  labels: ['reason', 'nodepool', 'min_values_relaxed'],
});

export const NODECLAIMS_SECOND_ROUND = counter({
  name: 'karpenter_nodeclaims_second_round_total',
  help: 'NodeClaims created for pods that already had a NodeClaim but were not bound to its node',
  labels: ['nodepool'],
});

export const NODECLAIMS_BALANCED = counter({
  name: 'karpenter_nodeclaims_balanced_total',
  help: 'NodeClaims created in a zone that was chosen to balance zones',
  labels: ['nodepool', 'zone'],
});

export const NODECLAIMS_UNHEALTHY_DISRUPTED = counter({
  name: 'karpenter_nodeclaims_unhealthy_disrupted_total',
  help: 'NodeClaims deleted to repair their nodes',
  labels: ['condition', 'nodepool', 'capacity_type', 'image_id'],
});

export const NODECLAIMS_REBOOTED = counter({
  name: 'karpenter_nodeclaims_rebooted_total',
  help: 'NodeClaims whose instances were rebooted to repair their nodes',
  labels: ['condition', 'nodepool', 'outcome'],
});

export const NODECLAIMS_INSTANCE_TERMINATION_DURATION_SECONDS = histogram({
  name: 'karpenter_nodeclaims_instance_termination_duration_seconds',
  help: "Time from the first request to terminate a NodeClaim's instance until its end",
  labels: ['nodepool'],
  buckets: powersOfTwo(11),
});

export const NODECLAIMS_TERMINATION_DURATION_SECONDS = histogram({
  name: 'karpenter_nodeclaims_termination_duration_seconds',
  help: 'Time from the deletion of a NodeClaim until the removal of its finalizer',
  labels: ['nodepool'],
  buckets: powersOfTwo(12),
});

export const NODECLAIMS_TERMINATED = counter({
  name: 'karpenter_nodeclaims_terminated_total',
  help: 'NodeClaims that were terminated with their instance',
  labels: ['nodepool', 'capacity_type', 'zone'],
});

export const DEVICE_TEMPLATE_MISMATCHES = counter({
  name: 'karpenter_device_template_mismatches_total',
  help: 'Nodes whose DRA driver did not publish the expected devices (kind devices), no complete pool (not_published), or other devices than a node of the same type (shape)',
  labels: ['driver', 'kind'],
});
