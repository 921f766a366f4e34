/** Metrics of NodePools: limits, use, cost and budgets. */
import { counter, gauge } from './declaration.ts';

export const NODEPOOLS_ALLOWED_DISRUPTIONS = gauge({
  name: 'karpenter_nodepools_allowed_disruptions',
  help: 'Nodes that the budgets of a NodePool allow to disrupt at the same time',
  labels: ['nodepool', 'reason'],
});

export const NODEPOOLS_NODES_CONSUMING_BUDGETS = gauge({
  name: 'karpenter_nodepools_nodes_consuming_budgets',
  help: 'Nodes of a NodePool that are unavailable and count towards its budgets',
  labels: ['nodepool', 'reason'],
});

export const NODEPOOLS_LIMIT = gauge({
  name: 'karpenter_nodepools_limit',
  help: 'Limits of NodePools',
  labels: ['resource_type', 'nodepool'],
});

export const NODEPOOLS_USAGE = gauge({
  name: 'karpenter_nodepools_usage',
  help: 'Resources of the nodes of NodePools',
  labels: ['resource_type', 'nodepool'],
});

export const NODEPOOLS_COST = gauge({
  name: 'karpenter_nodepools_cost_total',
  help: 'Sum of the hourly prices of the offerings of nodes by NodePool in USD, without volumes and addresses',
  labels: ['nodepool'],
});

export const NODEPOOLS_COST_USD_PER_HOUR = gauge({
  name: 'karpenter_nodepools_cost_usd_per_hour',
  help: 'Cost of the nodes of NodePools in USD per hour: at list prices, effective as AWS bills it, the idle and DaemonSet parts of the effective cost, and as a planning figure surplus CPU credits',
  labels: ['nodepool', 'part'],
});

export const NODEPOOLS_LAUNCHES_UNPRODUCTIVE = counter({
  name: 'karpenter_nodepools_launches_unproductive_total',
  help: 'Launched nodes of a NodePool that did not serve their pods, by cause',
  labels: ['nodepool', 'cause'],
});

export const NODEPOOLS_LAUNCH_BACK_OFF_SECONDS = gauge({
  name: 'karpenter_nodepools_launch_back_off_seconds',
  help: 'Time until the next launch from a NodePool for pods that a cause of unproductive launches affects',
  labels: ['nodepool', 'cause'],
});

export const NODEPOOLS_COST_TRACKER_ERRORS = counter({
  name: 'karpenter_nodepools_cost_tracker_errors_total',
  help: 'Failed lookups of prices',
  labels: ['nodepool'],
});

export const NODEPOOLS_ROLLOUT_DRIFTED_NODES = gauge({
  name: 'karpenter_nodepools_rollout_drifted_nodes',
  help: 'Drifted nodes of a NodePool that a rollout has not replaced yet, by the stage of the rollout',
  labels: ['nodepool', 'stage'],
});

export const CEILINGS_LIMIT = gauge({
  name: 'karpenter_ceilings_limit',
  help: 'Amounts that the nodes of several NodePools must not exceed together, by the object with the ceiling',
  labels: ['kind', 'name', 'resource_type'],
});

export const CEILINGS_USAGE = gauge({
  name: 'karpenter_ceilings_usage',
  help: 'Amounts that count toward ceilings, with the largest possible amounts of nodes that are being launched',
  labels: ['kind', 'name', 'resource_type'],
});

export const NODEPOOLS_WINDOW_OPEN = gauge({
  name: 'karpenter_nodepools_window_open',
  help: '1 while the windows of a NodePolicy allow the disruption of nodes of the NodePool for a reason, 0 otherwise',
  labels: ['nodepool', 'reason'],
});
