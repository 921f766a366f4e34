/** Gauges of every node's resources and of the cluster's use of them, replaced as a whole every few seconds. */
import type { Gauge } from 'prom-client';
import { WELL_KNOWN_LABELS } from '../../api/labels.ts';
import type { Resources, StateNode } from '../../engine/model.ts';
import { isOwnedByDaemonSet, isTerminal } from '../../engine/pods.ts';
import { addResources, podLimits, podRequests, resourcesOf, subtractResources } from '../../engine/resources.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import type { Deps } from '../deps.ts';
import { clusterStateMetrics } from './clusterstate.ts';
import type { Labels } from './series.ts';

const INTERVAL_MS = 5_000;

/** Label of a metric for a label of a node: the part after the slash. */
export const nodeLabelName = (label: string): string =>
  label
    .slice(label.indexOf('/') + 1)
    .toLowerCase()
    .replaceAll('-', '_');

/** Processors are measured in cores, everything else in its base unit. */
export const inUnits = (resource: string, amount: number): number => (resource === 'cpu' ? amount / 1_000 : amount);

export const resourceType = (resource: string): string => resource.toLowerCase().replaceAll('-', '_');

const KNOWN = [...WELL_KNOWN_LABELS].map((label) => ({ label, name: nodeLabelName(label) }));
const NODE_LABELS = [...KNOWN.map(({ name }) => name), 'node_name', 'phase', 'managed'];

interface Amounts {
  readonly allocatable: Resources;
  readonly podRequests: Resources;
  readonly podLimits: Resources;
  readonly daemonRequests: Resources;
  readonly daemonLimits: Resources;
  readonly overhead: Resources;
}

export function nodeMetrics(deps: Deps): Singleton {
  const { clock, cluster, metrics } = deps;
  const byResource = [...NODE_LABELS, 'resource_type'];
  const gauges: Readonly<Record<keyof Amounts, Gauge>> = {
    allocatable: metrics.gauge('nodes_allocatable', 'Resources of nodes that pods can use', byResource),
    podRequests: metrics.gauge(
      'nodes_total_pod_requests',
      'Requests of the pods on nodes, daemons included',
      byResource,
    ),
    podLimits: metrics.gauge('nodes_total_pod_limits', 'Limits of the pods on nodes, daemons included', byResource),
    daemonRequests: metrics.gauge('nodes_total_daemon_requests', 'Requests of the daemons on nodes', byResource),
    daemonLimits: metrics.gauge('nodes_total_daemon_limits', 'Limits of the daemons on nodes', byResource),
    overhead: metrics.gauge('nodes_system_overhead', 'Resources of nodes that pods cannot use', byResource),
  };
  const lifetime = metrics.gauge('nodes_current_lifetime_seconds', 'Age of nodes', NODE_LABELS);
  const utilization = metrics.gauge(
    'cluster_utilization_percent',
    'Part of the allocatable resources that pods request',
    ['resource_type'],
  );
  const checkState = clusterStateMetrics(deps);

  return {
    name: 'metrics.node',
    singleton: true,
    async reconcile({ log }) {
      const nodes = cluster.nodes().filter(({ node }) => node !== undefined);
      const measured = nodes.map((node) => ({ node, labels: labelsOf(node), amounts: amountsOf(node) }));
      for (const gauge of [...Object.values(gauges), lifetime, utilization]) gauge.reset();
      for (const { node, labels, amounts } of measured) {
        for (const [name, gauge] of Object.entries(gauges)) set(gauge, labels, amounts[name as keyof Amounts]);
        const created = node.node?.metadata.creationTimestamp;
        if (created !== undefined) lifetime.set(labels, (clock.now() - Date.parse(created)) / 1_000);
      }
      const total = addResources(...measured.map(({ amounts }) => amounts.allocatable));
      const requested = addResources(...measured.map(({ amounts }) => amounts.podRequests));
      for (const [resource, amount] of Object.entries(total)) {
        if (amount > 0) {
          utilization.set({ resource_type: resourceType(resource) }, (100 * (requested[resource] ?? 0)) / amount);
        }
      }
      checkState(nodes.length, log);
      return after(INTERVAL_MS);
    },
  };
}

function set(gauge: Gauge, labels: Labels, amounts: Resources): void {
  for (const [resource, amount] of Object.entries(amounts)) {
    gauge.set({ ...labels, resource_type: resourceType(resource) }, inUnits(resource, amount));
  }
}

function labelsOf(node: StateNode): Labels {
  const known = KNOWN.map(({ label, name }) => [name, node.labels[label] ?? '']);
  return {
    ...Object.fromEntries(known),
    node_name: node.name,
    phase: '',
    managed: String(node.nodeClaim !== undefined),
  };
}

function amountsOf(node: StateNode): Amounts {
  const running = node.pods.filter((pod) => !isTerminal(pod));
  const daemons = running.filter(isOwnedByDaemonSet);
  const capacity = resourcesOf(node.node?.status?.capacity);
  const allocatable = resourcesOf(node.node?.status?.allocatable);
  return {
    allocatable,
    podRequests: addResources(...running.map(podRequests)),
    podLimits: addResources(...running.map(podLimits)),
    daemonRequests: addResources(...daemons.map(podRequests)),
    daemonLimits: addResources(...daemons.map(podLimits)),
    overhead: subtractResources(capacity, allocatable),
  };
}
