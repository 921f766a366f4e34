/**
 * Dashboards of the chart, with metrics of the default view. Some metrics come from every replica and some only from the leader,
 * so queries use the sum or the maximum over replicas.
 */
import type { Dashboard, Surroundings } from './grafana.ts';

const RATE = '[5m]';
/** Values of `reason` of nodes that AWS interrupted. */
const INTERRUPTION_REASONS =
  'spot_interrupted|capacity_reservation_interrupted|scheduled_change|event_status|instance_status|system_status|instance_stopped|instance_terminated';
const quantile = (q: number, metric: string, by = 'le'): string =>
  `histogram_quantile(${q}, sum by (${by}) (rate(${metric}_bucket${RATE})))`;

const OVERVIEW: Dashboard = {
  title: 'Karpenter / Overview',
  uid: 'karpenter-overview',
  rows: {
    Now: [
      { title: 'Nodes', kind: 'number', width: 4, queries: { nodes: 'max(karpenter_cluster_state_node_count)' } },
      {
        title: 'Price per hour',
        kind: 'number',
        width: 4,
        unit: 'currencyUSD',
        queries: { usd: 'sum(max by (nodepool) (karpenter_nodepools_cost_usd_per_hour{part="effective"}))' },
      },
      {
        title: 'Unschedulable pods',
        kind: 'number',
        width: 4,
        queries: { pods: 'max(karpenter_scheduler_unschedulable_pods_count)' },
        about: 'Pods without a node in the last scheduling run. `karpenter explain pod` shows the reason.',
      },
      {
        title: 'Nodes by NodePool',
        kind: 'table',
        width: 6,
        queries: {
          '{{nodepool}}':
            'count by (nodepool) (max by (nodepool, node_name) (karpenter_nodes_current_lifetime_seconds))',
        },
      },
      {
        title: 'Objects that are not Ready',
        kind: 'table',
        width: 6,
        queries: {
          '{{name}}':
            'max by (name, reason) (operator_ec2nodeclass_status_condition_count{type="Ready",status!="True"} or operator_nodepool_status_condition_count{type="Ready",status!="True"})',
        },
      },
    ],
    Capacity: [
      {
        title: 'Requested share of CPU and memory',
        kind: 'line',
        unit: 'percentunit',
        queries: {
          '{{resource_type}}':
            'max by (resource_type) (karpenter_cluster_utilization_percent{resource_type=~"cpu|memory"}) / 100',
        },
      },
      {
        title: 'CPU by NodePool',
        kind: 'line',
        queries: {
          '{{nodepool}} used': 'max by (nodepool) (karpenter_nodepools_usage{resource_type="cpu"})',
          '{{nodepool}} limit': 'max by (nodepool) (karpenter_nodepools_limit{resource_type="cpu"})',
        },
      },
      {
        title: 'Pods by phase',
        kind: 'line',
        queries: { '{{phase}}': 'max by (phase) (sum by (instance, phase) (karpenter_pods_state))' },
      },
      {
        title: 'Nodes by instance type',
        kind: 'line',
        queries: {
          '{{instance_type}}':
            'count by (instance_type) (max by (instance_type, node_name) (karpenter_nodes_current_lifetime_seconds))',
        },
      },
      {
        title: 'Nodes by zone and capacity type',
        kind: 'line',
        queries: {
          '{{zone}} {{capacity_type}}':
            'count by (zone, capacity_type) (max by (zone, capacity_type, node_name) (karpenter_nodes_current_lifetime_seconds))',
        },
      },
      {
        title: 'Free CPU of nodes',
        kind: 'line',
        queries: {
          free: 'sum(max by (node_name) (karpenter_nodes_allocatable{resource_type="cpu"})) - sum(max by (node_name) (karpenter_nodes_total_pod_requests{resource_type="cpu"}))',
        },
      },
    ],
    Scheduling: [
      {
        title: 'Time until pods are bound',
        kind: 'line',
        unit: 's',
        queries: {
          'half of them': quantile(0.5, 'karpenter_pods_bound_duration_seconds'),
          '9 of 10': quantile(0.9, 'karpenter_pods_bound_duration_seconds'),
        },
      },
      {
        title: 'Duration of a scheduling run',
        kind: 'line',
        unit: 's',
        queries: {
          '{{controller}}': quantile(0.9, 'karpenter_scheduler_scheduling_duration_seconds', 'le, controller'),
        },
      },
      {
        title: 'NodeClaims created and terminated per hour',
        kind: 'line',
        queries: {
          'created {{nodepool}}': 'sum by (nodepool) (increase(karpenter_nodeclaims_created_total[1h]))',
          'terminated {{nodepool}}': 'sum by (nodepool) (increase(karpenter_nodeclaims_terminated_total[1h]))',
        },
      },
    ],
    Operator: [
      {
        title: 'Failed reconciles',
        kind: 'line',
        unit: 'reqps',
        queries: {
          '{{controller}}': `sum by (controller) (rate(controller_runtime_reconcile_errors_total${RATE})) > 0`,
        },
      },
      {
        title: 'Memory',
        kind: 'line',
        unit: 'bytes',
        queries: {
          '{{instance}}': 'process_resident_memory_bytes{job=~".*karpenter.*"}',
          limit: 'max(karpenter_memory_limit_bytes)',
        },
      },
      {
        title: 'Series per scrape',
        kind: 'line',
        queries: { series: 'max(karpenter_metrics_series)', budget: 'max(karpenter_metrics_series_budget)' },
      },
    ],
  },
};

const COST: Dashboard = {
  title: 'Karpenter / Cost',
  uid: 'karpenter-cost',
  rows: {
    Price: [
      {
        title: 'Price per hour',
        kind: 'number',
        width: 6,
        unit: 'currencyUSD',
        queries: { usd: 'sum(max by (nodepool) (karpenter_nodepools_cost_usd_per_hour{part="effective"}))' },
      },
      {
        title: 'Price per month at this rate',
        kind: 'number',
        width: 6,
        unit: 'currencyUSD',
        queries: { usd: '730 * sum(max by (nodepool) (karpenter_nodepools_cost_usd_per_hour{part="effective"}))' },
      },
      {
        title: 'Price per hour by NodePool',
        kind: 'line',
        width: 12,
        unit: 'currencyUSD',
        queries: { '{{nodepool}}': 'max by (nodepool) (karpenter_nodepools_cost_usd_per_hour{part="effective"})' },
      },
      {
        title: 'Price per hour of a requested CPU',
        kind: 'line',
        unit: 'currencyUSD',
        queries: {
          usd: 'sum(max by (nodepool) (karpenter_nodepools_cost_usd_per_hour{part="effective"})) / sum(max by (node_name) (karpenter_nodes_total_pod_requests{resource_type="cpu"}))',
        },
      },
      {
        title: 'Lowest price of instance types in use',
        kind: 'line',
        width: 16,
        unit: 'currencyUSD',
        queries: {
          '{{instance_type}} {{capacity_type}}':
            'min by (instance_type, capacity_type) (karpenter_cloudprovider_instance_type_offering_price_estimate > 0)',
        },
      },
      {
        title: 'List price and effective price per hour',
        kind: 'line',
        width: 12,
        unit: 'currencyUSD',
        queries: {
          '{{part}}':
            'sum by (part) (max by (nodepool, part) (karpenter_nodepools_cost_usd_per_hour{part=~"list|effective"}))',
        },
        about:
          'The effective price is what AWS bills: instances with discounts and commitments, volumes and public addresses.',
      },
      {
        title: 'Idle and DaemonSets per hour by NodePool',
        kind: 'line',
        width: 12,
        unit: 'currencyUSD',
        queries: {
          '{{nodepool}} {{part}}':
            'max by (nodepool, part) (karpenter_nodepools_cost_usd_per_hour{part=~"idle|daemonsets"})',
        },
        about: 'Parts of the effective price: resources without requests, and requests of DaemonSets.',
      },
    ],
    Savings: [
      {
        title: 'Saved by consolidation',
        kind: 'number',
        unit: 'currencyUSD',
        queries: { '{{kind}} {{reason}}': 'max by (kind, reason) (karpenter_voluntary_disruption_savings_usd)' },
        about: 'Predicted and realised savings in the first 30 minutes of each move.',
      },
      {
        title: 'Moves by outcome per hour',
        kind: 'line',
        queries: {
          '{{reason}} {{outcome}}':
            'sum by (reason, outcome) (increase(karpenter_voluntary_disruption_moves_total[1h]))',
        },
      },
      {
        title: 'Share of spot nodes',
        kind: 'line',
        unit: 'percentunit',
        queries: {
          spot: '(count(max by (node_name) (karpenter_nodes_current_lifetime_seconds{capacity_type="spot"})) or vector(0)) / count(max by (node_name) (karpenter_nodes_current_lifetime_seconds))',
        },
      },
    ],
    Supply: [
      {
        title: 'Share of available offerings',
        kind: 'line',
        width: 12,
        unit: 'percentunit',
        queries: {
          '{{capacity_type}} {{zone}}':
            'max by (capacity_type, zone) (karpenter_cloudprovider_offerings_count{available="true"}) / sum by (capacity_type, zone) (max by (capacity_type, zone, available) (karpenter_cloudprovider_offerings_count))',
        },
      },
      {
        title: 'Instance types in use with an estimated price',
        kind: 'table',
        width: 12,
        queries: {
          '{{instance_type}}': 'max by (instance_type) (karpenter_cloudprovider_instance_type_price_estimated)',
        },
      },
    ],
  },
};

const DISRUPTION: Dashboard = {
  title: 'Karpenter / Disruption',
  uid: 'karpenter-disruption',
  rows: {
    Decisions: [
      {
        title: 'Commands per hour',
        kind: 'line',
        queries: {
          '{{decision}} {{reason}}':
            'sum by (decision, reason) (increase(karpenter_voluntary_disruption_decisions_total[1h]))',
        },
      },
      {
        title: 'Candidates by method',
        kind: 'line',
        queries: { '{{reason}}': 'max by (reason) (karpenter_voluntary_disruption_eligible_nodes)' },
      },
      {
        title: 'Duration of a search',
        kind: 'line',
        unit: 's',
        queries: {
          '{{reason}} {{consolidation_type}}': quantile(
            0.9,
            'karpenter_voluntary_disruption_decision_evaluation_duration_seconds',
            'le, reason, consolidation_type',
          ),
        },
      },
      {
        title: 'Search time-outs and failed commands per hour',
        kind: 'line',
        queries: {
          'out of time {{consolidation_type}}':
            'sum by (consolidation_type) (increase(karpenter_voluntary_disruption_consolidation_timeouts_total[1h]))',
          'rolled back {{reason}}':
            'sum by (reason) (increase(karpenter_voluntary_disruption_queue_failures_total[1h]))',
          'no longer held {{consolidation_type}}':
            'sum by (consolidation_type) (increase(karpenter_voluntary_disruption_failed_validations_total[1h]))',
        },
      },
      {
        title: 'Allowed disruptions',
        kind: 'line',
        queries: { '{{nodepool}} {{reason}}': 'max by (nodepool, reason) (karpenter_nodepools_allowed_disruptions)' },
        about: 'If the value stays 0, a budget blocks all disruptions.',
      },
      {
        title: 'Nodes that count towards budgets',
        kind: 'line',
        queries: {
          '{{nodepool}} {{reason}}': 'max by (nodepool, reason) (karpenter_nodepools_nodes_consuming_budgets)',
        },
      },
    ],
    'Terminating nodes': [
      {
        title: 'NodeClaims disrupted per hour',
        kind: 'line',
        queries: {
          '{{reason}} {{nodepool}}': 'sum by (reason, nodepool) (increase(karpenter_nodeclaims_disrupted_total[1h]))',
        },
      },
      {
        title: 'Duration of a termination',
        kind: 'line',
        unit: 's',
        queries: { '{{nodepool}}': quantile(0.9, 'karpenter_nodeclaims_termination_duration_seconds', 'le, nodepool') },
      },
      {
        title: 'Longest current termination',
        kind: 'line',
        unit: 's',
        queries: {
          '{{karpenter_sh_nodepool}}':
            'max by (karpenter_sh_nodepool) (operator_nodeclaim_termination_current_time_seconds)',
        },
      },
      {
        title: 'Responses of the Eviction API',
        kind: 'line',
        unit: 'reqps',
        queries: { '{{code}}': `sum by (code) (rate(karpenter_pods_eviction_requests_total${RATE}))` },
        about: '429: a PodDisruptionBudget denied the eviction.',
      },
      {
        title: 'Interrupted nodes per hour',
        kind: 'line',
        about: 'Nodes that AWS interrupted. Nodes that the operator terminated are not counted.',
        queries: {
          '{{reason}}': `sum by (reason) (increase(karpenter_nodeclaims_disrupted_total{reason=~"${INTERRUPTION_REASONS}"}[1h]))`,
        },
      },
      {
        title: 'Drains of interrupted nodes per hour',
        kind: 'line',
        about: 'Lost: the instance ended before the drain.',
        queries: {
          '{{reason}} {{outcome}}': 'sum by (reason, outcome) (increase(karpenter_interruption_drains_total[1h]))',
        },
      },
      {
        title: 'Lifetime of nodes',
        kind: 'line',
        unit: 's',
        queries: {
          'median, {{nodepool}}':
            'histogram_quantile(0.5, sum by (le, nodepool) (rate(karpenter_nodes_lifetime_duration_seconds_bucket[1d])))',
        },
      },
    ],
  },
};

const AWS_CALLS: Dashboard = {
  title: 'Karpenter / AWS calls',
  uid: 'karpenter-aws-calls',
  rows: {
    Calls: [
      {
        title: 'Calls',
        kind: 'line',
        unit: 'reqps',
        queries: { '{{service}} {{action}}': `sum by (service, action) (rate(aws_sdk_go_request_total${RATE}))` },
      },
      {
        title: 'Failed calls',
        kind: 'line',
        unit: 'reqps',
        queries: {
          '{{action}} {{code}}': `sum by (service, action, code) (rate(aws_sdk_go_request_total{code!=""}${RATE}))`,
        },
      },
      {
        title: 'Attempts per call',
        kind: 'line',
        queries: {
          '{{action}}': `sum by (service, action) (rate(aws_sdk_go_request_attempt_total${RATE})) / sum by (service, action) (rate(aws_sdk_go_request_total${RATE}))`,
        },
        about: 'If the value is above 1, AWS throttles calls or does not respond.',
      },
      {
        title: 'Duration of a call',
        kind: 'line',
        unit: 's',
        queries: { '{{action}}': quantile(0.9, 'aws_sdk_go_request_duration_seconds', 'le, service, action') },
      },
      {
        title: 'Duration of a method',
        kind: 'line',
        unit: 's',
        queries: { '{{method}}': quantile(0.9, 'karpenter_cloudprovider_duration_seconds', 'le, method') },
      },
      {
        title: 'Failed methods',
        kind: 'line',
        unit: 'reqps',
        queries: {
          '{{method}} {{error}}': `sum by (method, error) (rate(karpenter_cloudprovider_errors_total${RATE}))`,
        },
      },
    ],
    Launches: [
      {
        title: 'Failed launches per hour',
        kind: 'line',
        queries: {
          '{{capacity_type}} {{zone}} {{reason}}':
            'sum by (capacity_type, zone, reason) (increase(karpenter_cloudprovider_instance_launch_failures_total[1h]))',
        },
      },
      {
        title: 'Requests per batch',
        kind: 'line',
        queries: {
          '{{batcher}}': `sum by (batcher) (rate(karpenter_cloudprovider_batcher_batch_size_sum${RATE})) / sum by (batcher) (rate(karpenter_cloudprovider_batcher_batch_size_count${RATE}))`,
        },
      },
      {
        title: 'Time until an interruption is handled',
        kind: 'line',
        unit: 's',
        queries: { '9 of 10': quantile(0.9, 'karpenter_interruption_message_queue_duration_seconds') },
      },
    ],
    'API server': [
      {
        title: 'Requests',
        kind: 'line',
        width: 12,
        unit: 'reqps',
        queries: { '{{method}} {{code}}': `sum by (method, code) (rate(client_go_request_total${RATE}))` },
      },
      {
        title: 'Duration of a request',
        kind: 'line',
        width: 12,
        unit: 's',
        queries: { '{{verb}} {{kind}}': quantile(0.9, 'client_go_request_duration_seconds', 'le, verb, kind') },
      },
    ],
  },
};

/** Marks and links of every dashboard. */
export const surroundings = (homepage: string): Surroundings => ({
  marks: [
    {
      name: 'Interruptions',
      query: `sum by (reason) (increase(karpenter_nodeclaims_disrupted_total{reason=~"${INTERRUPTION_REASONS}"}[2m])) > 0`,
      color: 'orange',
      text: '{{reason}}',
    },
    {
      name: 'Leader changes',
      query: 'max(changes(leader_election_master_status[2m])) > 0',
      color: 'purple',
      text: 'The leader of the operator changed',
    },
  ],
  links: { Runbook: `${homepage}/blob/main/docs/runbook.md` },
});

/** Dashboards by file name. */
export const DASHBOARDS: Readonly<Record<string, Dashboard>> = {
  overview: OVERVIEW,
  cost: COST,
  disruption: DISRUPTION,
  'aws-calls': AWS_CALLS,
};
