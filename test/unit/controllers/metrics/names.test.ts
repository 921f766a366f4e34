/** Metrics of nodes, claims, NodePools and pods as dashboards query them: names, types, labels and buckets. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, NODE_POOL, type NodeClaim } from '#api/objects';
import { createMetrics } from '#observe/setup';
import { countDisrupted } from '../../../../src/controllers/disrupted.ts';
import { World } from '../harness.ts';
import { claimOf } from '../node/bench.ts';

interface Family {
  type: string;
  readonly labels: Set<string>;
  readonly buckets: number[];
  readonly quantiles: Set<number>;
}

/** Returns the metrics of a scrape. Series of a histogram or summary count for the metric. */
function familiesOf(text: string): ReadonlyMap<string, Family> {
  const families = new Map<string, Family>();
  for (const [, name = '', type = ''] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    families.set(name, { type, labels: new Set(), buckets: [], quantiles: new Set() });
  for (const [, series = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? /gm)) {
    const family = families.get(series) ?? families.get(series.replace(/_(bucket|sum|count)$/, ''));
    if (family === undefined) continue;
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
      if (label === 'quantile') family.quantiles.add(Number(value));
      else if (label !== 'le') family.labels.add(label);
      else if (value !== '+Inf' && !family.buckets.includes(Number(value))) family.buckets.push(Number(value));
    }
  }
  return families;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const upTo = (most: number): readonly number[] =>
  Array.from({ length: Math.log2(most) + 1 }, (_, exponent) => 2 ** exponent);
const LIFETIMES = [
  ...[15, 30, 45].map((minutes) => minutes * MINUTE),
  ...[1, 2, 4, 6, 8, 10, 12, 16, 20].map((hours) => hours * HOUR),
  ...[1, 2, 3, 5, 10, 15, 20, 25, 30].map((days) => days * DAY),
];
const STANDARD = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
  ...[1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10],
  ...[15, 20, 25, 30, 40, 50, 60, 120, 150, 300, 450, 600],
];
const TRANSITIONS = Array.from({ length: 15 }, (_, exponent) => 0.5 * 2 ** exponent);
const LIBRARY = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const DISRUPTED = ['capacity_type', 'consolidation_policy', 'nodepool', 'reason', 'termination_mode'];
const OWNERS = ['karpenter_k8s_aws_ec2nodeclass', 'karpenter_sh_nodepool'];
const CONDITION = ['name', 'namespace', 'reason', 'status', 'type'];
const POD = ['name', 'namespace'];

/** Scrapes after a node has been used, has expired and has terminated, while its successor exists. */
async function scrape(): Promise<ReadonlyMap<string, Family>> {
  const world = new World();
  const seed = world.nodePool('seed').spec.template.spec;
  world.kube.delete(NODE_POOL, { name: 'seed' });
  world.nodePool('default', {
    limits: { cpu: '100' },
    template: { spec: { ...seed, expireAfter: '10m' } },
    disruption: { consolidateAfter: 'Never' },
  });
  world.start();
  await world.pass(2);
  world.deploy('web', 2);
  await world.pass(11 * MINUTE);
  world.joining = false;
  world.pending(1, '3', 'waiting');
  await world.pass(31); // pods are measured every half minute
  world.kube.delete(NODE_CLAIM, world.claims.at(-1)?.metadata ?? { name: '' });
  await world.pass(2);
  const text = await world.metrics.text();
  world.kill();
  return familiesOf(text);
}

describe('a scrape', () => {
  let families: ReadonlyMap<string, Family>;
  beforeAll(async () => {
    families = await scrape();
  });

  it.each<[string, string, readonly string[], (readonly number[])?]>([
    ['karpenter_nodeclaims_created_total', 'counter', ['min_values_relaxed', 'nodepool', 'reason']],
    ['karpenter_nodeclaims_terminated_total', 'counter', ['capacity_type', 'nodepool', 'zone']],
    ['karpenter_nodeclaims_disrupted_total', 'counter', DISRUPTED],
    ['karpenter_pods_disruption_initiated_total', 'counter', DISRUPTED],
    ['karpenter_nodeclaims_instance_termination_duration_seconds', 'histogram', ['nodepool'], upTo(1024)],
    ['karpenter_nodeclaims_termination_duration_seconds', 'histogram', ['nodepool'], upTo(2048)],
    ['karpenter_nodes_created_total', 'counter', ['nodepool', 'zone']],
    ['karpenter_nodes_terminated_total', 'counter', ['nodepool', 'zone']],
    ['karpenter_nodes_drained_total', 'counter', ['nodepool']],
    ['karpenter_nodes_termination_duration_seconds', 'summary', ['nodepool']],
    ['karpenter_nodes_lifetime_duration_seconds', 'histogram', ['nodepool'], LIFETIMES],
    ['karpenter_pods_eviction_requests_total', 'counter', ['code']],
    ['karpenter_pods_drained_total', 'counter', ['reason']],
    ['karpenter_cluster_utilization_percent', 'gauge', ['resource_type']],
    ['karpenter_nodepools_limit', 'gauge', ['nodepool', 'resource_type']],
    ['karpenter_nodepools_usage', 'gauge', ['nodepool', 'resource_type']],
    ['karpenter_nodepools_cost_total', 'gauge', ['nodepool']],
    ['karpenter_nodepools_cost_tracker_errors_total', 'counter', []],
    ['karpenter_cluster_state_node_count', 'gauge', []],
    ['karpenter_cluster_state_synced', 'gauge', []],
    ['karpenter_cluster_state_unsynced_time_seconds', 'gauge', []],
    ['karpenter_pods_startup_duration_seconds', 'summary', []],
    ['karpenter_pods_bound_duration_seconds', 'histogram', [], STANDARD],
    ['karpenter_pods_provisioning_bound_duration_seconds', 'histogram', [], STANDARD],
    ['karpenter_pods_provisioning_startup_duration_seconds', 'histogram', [], STANDARD],
    ['karpenter_pods_scheduling_decision_duration_seconds', 'histogram', [], STANDARD],
    ['karpenter_pods_unstarted_time_seconds', 'gauge', POD],
    ['karpenter_pods_unbound_time_seconds', 'gauge', POD],
    ['karpenter_pods_provisioning_unbound_time_seconds', 'gauge', POD],
    ['karpenter_pods_provisioning_unstarted_time_seconds', 'gauge', POD],
    ['operator_nodeclaim_status_condition_count', 'gauge', [...CONDITION, ...OWNERS]],
    ['operator_nodeclaim_status_condition_current_status_seconds', 'gauge', [...CONDITION, ...OWNERS]],
    ['operator_nodeclaim_status_condition_transitions_total', 'counter', ['reason', 'status', 'type', ...OWNERS]],
    ['operator_nodeclaim_status_condition_transition_seconds', 'histogram', ['status', 'type', ...OWNERS], TRANSITIONS],
    ['operator_nodeclaim_termination_current_time_seconds', 'gauge', [...POD, ...OWNERS]],
    ['operator_nodeclaim_termination_duration_seconds', 'histogram', OWNERS, TRANSITIONS],
    ['operator_node_status_condition_count', 'gauge', [...CONDITION, ...OWNERS, 'karpenter_sh_initialized']],
    ['operator_node_termination_duration_seconds', 'histogram', [...OWNERS, 'karpenter_sh_initialized'], TRANSITIONS],
    ['operator_nodepool_status_condition_count', 'gauge', CONDITION],
    ['operator_nodepool_status_condition_transition_seconds', 'histogram', ['status', 'type'], TRANSITIONS],
    ['operator_ec2nodeclass_status_condition_count', 'gauge', CONDITION],
    ['operator_ec2nodeclass_termination_duration_seconds', 'histogram', [], LIBRARY],
    ['operator_status_condition_count', 'gauge', [...CONDITION, 'group', 'kind']],
    ['operator_status_condition_transitions_total', 'counter', ['group', 'kind', 'reason', 'status', 'type']],
    ['operator_status_condition_transition_seconds', 'histogram', ['group', 'kind', 'status', 'type'], TRANSITIONS],
    ['operator_termination_current_time_seconds', 'gauge', [...POD, 'group', 'kind']],
    ['operator_termination_duration_seconds', 'histogram', ['group', 'kind'], TRANSITIONS],
  ])('contains %s as a %s', (name, type, labels, buckets = []) => {
    const family = families.get(name);
    expect(family?.type).toBe(type);
    expect([...(family?.labels ?? [])].sort()).toEqual([...labels].sort());
    expect(family?.buckets).toEqual(buckets);
    if (type === 'summary') expect([...(family?.quantiles ?? [])]).toEqual([0, 0.5, 0.9, 0.99, 1]);
  });

  it.each([
    ['allocatable', true],
    ['total_pod_requests', true],
    ['total_daemon_requests', false],
    ['total_pod_limits', false],
    ['total_daemon_limits', false],
    ['system_overhead', true],
    ['current_lifetime_seconds', true],
  ])('contains karpenter_nodes_%s with the labels of a node', (name, isUsed) => {
    const family = families.get(`karpenter_nodes_${name}`);
    expect(family?.type).toBe('gauge');
    const known = ['nodepool', 'capacity_type', 'zone', 'region', 'instance_type', 'arch', 'os', 'windows_build'];
    const aws = ['instance_family', 'instance_size', 'instance_cpu', 'instance_memory', 'zone_id'];
    const more = name === 'current_lifetime_seconds' ? [] : ['resource_type'];
    if (!isUsed) return;
    expect([...(family?.labels ?? [])]).toEqual(
      expect.arrayContaining([...known, ...aws, 'node_name', 'phase', 'managed', ...more]),
    );
    expect(family?.labels.has('resource_type')).toBe(more.length > 0);
  });

  it('contains each pod with its location and its owner', () => {
    const where = ['node', 'scheduled', 'nodepool', 'zone', 'arch', 'capacity_type', 'instance_type', 'managed'];
    expect([...(families.get('karpenter_pods_state')?.labels ?? [])].sort()).toEqual(
      [...POD, 'owner', ...where, 'phase', 'ready'].sort(),
    );
  });
});

describe('countDisrupted', () => {
  const counted = async (claim: NodeClaim, more: { pods?: number; policy?: string } = {}): Promise<string> => {
    const metrics = createMetrics();
    countDisrupted(metrics, claim, { reason: 'drifted', ...more });
    return metrics.text();
  };

  it.each([
    { grace: undefined, mode: 'graceful' },
    { grace: '0s', mode: 'forceful' },
    { grace: '-5m', mode: 'forceful' },
    { grace: '1s', mode: 'eventual' },
  ])('maps a terminationGracePeriod of $grace to $mode', async ({ grace, mode }) => {
    const claim = claimOf('claim');
    const spec = { ...claim.spec, ...(grace !== undefined && { terminationGracePeriod: grace }) };
    expect(await counted({ ...claim, spec }, { policy: 'when_empty', pods: 3 })).toContain(
      'karpenter_pods_disruption_initiated_total{reason="drifted",nodepool="default",capacity_type="",' +
        `consolidation_policy="when_empty",termination_mode="${mode}"} 3`,
    );
  });

  it('counts no pods if none are passed', async () => {
    expect(await counted(claimOf('claim'))).not.toContain('pods_disruption_initiated_total');
  });
});
