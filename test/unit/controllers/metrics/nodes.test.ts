import { describe, expect, it } from '@jest/globals';
import {
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  NODEPOOL_LABEL,
  type NodePool,
  POD,
  type Pod,
  ZONE_LABEL,
} from '#api/objects';
import { NODE_CLASS_KIND } from '#aws/node-classes';
import { parseAwsSettings } from '#aws/settings';
import type { CloudProvider } from '#cloud';
import { runControllers } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { ClusterState } from '#state';
import type { Deps } from '../../../../src/controllers/deps.ts';
import { metricsControllers } from '../../../../src/controllers/index.ts';
import { handFed } from '../../kube/fakes.ts';
import { virtualClock } from '../../virtualclock.ts';
import { claimOf, daemonOf, nodeOf, PROVIDER_ID, podOf } from '../node/bench.ts';

const LABELS = {
  [NODEPOOL_LABEL]: 'default',
  [INSTANCE_TYPE_LABEL]: 'm5.large',
  [ZONE_LABEL]: 'zone-a',
  [CAPACITY_TYPE_LABEL]: 'spot',
};

function observe(argv: readonly string[] = []) {
  const clock = virtualClock();
  const { informers, store } = handFed();
  const metrics = createMetrics();
  const cluster = new ClusterState({ informers, clock, manages: () => true });
  const requirement = (key: string, value: string) => ({ key, operator: 'In', values: [value] });
  const cloud = {
    nodeClassKinds: [NODE_CLASS_KIND],
    instanceTypes: async () => [
      {
        name: 'm5.large',
        offerings: [
          {
            usdPerHour: 0.04,
            requirements: [requirement(CAPACITY_TYPE_LABEL, 'spot'), requirement(ZONE_LABEL, 'zone-a')],
          },
        ],
      },
    ],
  } as unknown as CloudProvider;
  const settings = parseAwsSettings(['--cluster-name=test', '--node-hourly-fee=0', ...argv], {});
  const deps = { informers, cluster, cloud, clock, metrics, settings, events: { publish() {} } } as unknown as Deps;
  const { signal } = new AbortController();
  runControllers({ controllers: metricsControllers(deps), informers, clock, log: silent, metrics, signal });
  /** Returns the value of the series of a metric with all these labels, or undefined. */
  const value = async (metric: string, labels: Readonly<Record<string, string>> = {}): Promise<number | undefined> => {
    const wanted = Object.entries(labels).map(([name, label]) => `${name}="${label}"`);
    const line = (await metrics.text())
      .split('\n')
      .find(
        (each) =>
          each.startsWith(metric) &&
          /^[{ ]/.test(each.slice(metric.length)) &&
          wanted.every((label) => each.includes(label)),
      );
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1));
  };
  return { clock, cloud, store, value };
}

const requests = (cpu: string) => ({ containers: [{ name: 'c', resources: { requests: { cpu } } }] });

describe('a metric of nodes, pods and NodePools', () => {
  it('follows changes and ends with deleted objects', async () => {
    const { clock, store, value } = observe();
    const node = {
      ...nodeOf('node', { labels: LABELS }),
      status: { capacity: { cpu: '2' }, allocatable: { cpu: '1900m' }, conditions: [] },
    };
    store(NODE_CLAIM).put(claimOf('claim', { labels: LABELS }));
    store(NODE).put(node);
    store(POD).put(podOf('web', requests('500m')));
    store(POD).put(daemonOf('daemon', requests('100m')));
    await clock.advance(6_000);
    const cpu = {
      node_name: 'node',
      resource_type: 'cpu',
      nodepool: 'default',
      instance_type: 'm5.large',
      managed: 'true',
    };
    expect(await value('karpenter_nodes_allocatable', cpu)).toBe(1.9);
    expect(await value('karpenter_nodes_total_pod_requests', cpu)).toBe(0.6);
    expect(await value('karpenter_nodes_total_daemon_requests', cpu)).toBe(0.1);
    expect(await value('karpenter_nodes_system_overhead', cpu)).toBeCloseTo(0.1);
    expect(await value('karpenter_cluster_utilization_percent', { resource_type: 'cpu' })).toBeCloseTo(31.58, 2);
    expect(await value('karpenter_nodes_current_lifetime_seconds', { node_name: 'node' })).toBe(86_406);
    expect(await value('karpenter_cluster_state_node_count')).toBe(1);
    expect(await value('karpenter_pods_state', { name: 'web', node: 'node', scheduled: 'true', managed: 'true' })).toBe(
      1,
    );

    store(POD).remove(podOf('web'));
    await clock.advance(5_000);
    expect(await value('karpenter_nodes_total_pod_requests', cpu)).toBe(0.1);
    expect(await value('karpenter_pods_state', { name: 'web' })).toBeUndefined();

    store(NODE).remove(node);
    store(NODE_CLAIM).remove(claimOf('claim'));
    await clock.advance(5_000);
    expect(await value('karpenter_nodes_allocatable', { node_name: 'node' })).toBeUndefined();
    expect(await value('karpenter_nodes_current_lifetime_seconds', { node_name: 'node' })).toBeUndefined();
    expect(await value('karpenter_cluster_utilization_percent', { resource_type: 'cpu' })).toBeUndefined();
  });

  it('reports limits, usage and cost of a NodePool', async () => {
    const { clock, store, value } = observe();
    const pool = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'default', uid: 'p', resourceVersion: '1' },
      spec: { limits: { cpu: '10', 'example.com/Device': '3' }, template: { spec: { nodeClassRef: {} } } },
      status: { resources: { cpu: '2' } },
    } as unknown as NodePool;
    store(NODE_CLAIM).put(claimOf('one', { labels: LABELS }));
    store(NODE_CLAIM).put({ ...claimOf('two', { labels: LABELS }), status: { providerID: `${PROVIDER_ID}2` } });
    store(NODE_CLAIM).put({ ...claimOf('unknown', { labels: { ...LABELS, [ZONE_LABEL]: 'elsewhere' } }), status: {} });
    store(NODE_POOL).put(pool);
    await clock.advance(1_000);
    expect(await value('karpenter_nodepools_limit', { nodepool: 'default', resource_type: 'cpu' })).toBe(10);
    expect(await value('karpenter_nodepools_limit', { resource_type: 'example.com/device' })).toBe(3);
    expect(await value('karpenter_nodepools_usage', { nodepool: 'default', resource_type: 'cpu' })).toBe(2);
    expect(await value('karpenter_nodepools_cost_total', { nodepool: 'default' })).toBeCloseTo(0.08);
    store(NODE_POOL).remove(pool);
    await clock.settle();
    expect(await value('karpenter_nodepools_cost_total', { nodepool: 'default' })).toBeUndefined();
  });

  it('includes limits, and only pods that have not finished', async () => {
    const { clock, store, value } = observe();
    const resources = { requests: { cpu: '1' }, limits: { cpu: '3' } };
    const spec = { containers: [{ name: 'c', resources }] };
    store(NODE).put({ ...nodeOf('node', { labels: LABELS }), status: { allocatable: { cpu: '4', pods: '0' } } });
    store(POD).put(podOf('web', spec));
    store(POD).put({ ...podOf('job', spec), status: { phase: 'Succeeded' } });
    store(POD).put(daemonOf('daemon', spec));
    await clock.advance(6_000);
    const cpu = { resource_type: 'cpu' };
    expect(await value('karpenter_nodes_total_pod_requests', cpu)).toBe(2);
    expect(await value('karpenter_nodes_total_pod_limits', cpu)).toBe(6);
    expect(await value('karpenter_nodes_total_daemon_requests', cpu)).toBe(1);
    expect(await value('karpenter_nodes_total_daemon_limits', cpu)).toBe(3);
    expect(await value('karpenter_nodes_allocatable', { ...cpu, managed: 'false' })).toBe(4);
    expect(await value('karpenter_cluster_utilization_percent', cpu)).toBe(50);
    expect(await value('karpenter_cluster_utilization_percent', { resource_type: 'pods' })).toBeUndefined();
  });

  it('follows a pending pod every half minute, and ends with the pod', async () => {
    const { clock, store, value } = observe();
    const time = new Date(clock.now()).toISOString();
    const pod: Pod = {
      ...podOf('web', { containers: [] }, { creationTimestamp: time, resourceVersion: '1' }),
      spec: { containers: [] },
      status: { phase: 'Pending' },
    };
    store(POD).put(pod);
    await clock.advance(29_000);
    expect(await value('karpenter_pods_unbound_time_seconds', { name: 'web' })).toBe(0);
    await clock.advance(2_000);
    for (const gauge of ['unbound', 'unstarted'])
      expect(await value(`karpenter_pods_${gauge}_time_seconds`, { name: 'web' })).toBe(30);
    expect(await value('karpenter_pods_state', { name: 'web', phase: 'Pending', node: '', scheduled: 'false' })).toBe(
      1,
    );

    store(NODE).put(nodeOf('node', { labels: {} }));
    store(POD).put(podOf('web', {}, { creationTimestamp: time, resourceVersion: '2' }));
    await clock.settle();
    expect(await value('karpenter_pods_state', { name: 'web', node: 'node', managed: 'false' })).toBe(1);
    expect(await value('karpenter_pods_state', { name: 'web', node: '' })).toBeUndefined();
    store(POD).remove(podOf('web'));
    await clock.settle();
    for (const gauge of ['state', 'unbound_time_seconds', 'unstarted_time_seconds'])
      expect(await value(`karpenter_pods_${gauge}`, { name: 'web' })).toBeUndefined();
  });

  it('identifies the owner of a pod by its path', async () => {
    const { clock, store, value } = observe();
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'r' }];
    store(POD).put(podOf('web', {}, { ownerReferences }));
    await clock.settle();
    const owner = '/apis/apps/v1/namespaces/default/replicasets/web-1';
    expect(await value('karpenter_pods_state', { name: 'web', owner, ready: 'false' })).toBe(1);
  });

  it('counts failed price listings, which are retried ten seconds later', async () => {
    const { clock, cloud, store, value } = observe();
    const list = cloud.instanceTypes;
    cloud.instanceTypes = async () => {
      throw new Error('throttled');
    };
    store(NODE_CLAIM).put(claimOf('one', { labels: LABELS }));
    store(NODE_POOL).put({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'default', uid: 'p', resourceVersion: '1' },
      spec: { template: { spec: { nodeClassRef: { group: '', kind: '', name: '' }, requirements: [] } } },
    });
    await clock.settle();
    expect(await value('karpenter_nodepools_cost_tracker_errors_total', { nodepool: 'default' })).toBe(1);
    expect(await value('karpenter_nodepools_cost_total', { nodepool: 'default' })).toBeUndefined();
    cloud.instanceTypes = list;
    await clock.advance(10_000);
    expect(await value('karpenter_nodepools_cost_total', { nodepool: 'default' })).toBeCloseTo(0.04);
    expect(await value('karpenter_nodepools_cost_tracker_errors_total', { nodepool: 'default' })).toBe(1);
  });

  it('is absent if it is disabled', async () => {
    const { clock, store, value } = observe(['--disable-cluster-state-observability']);
    store(POD).put(podOf('web'));
    await clock.advance(6_000);
    expect(await value('karpenter_pods_state')).toBeUndefined();
    expect(await value('karpenter_cluster_state_synced')).toBeUndefined();
  });
});
