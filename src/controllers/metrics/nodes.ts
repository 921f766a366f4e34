/** Gauges of every node's resources and of the cluster's use of them, replaced as a whole every few seconds. */

import type { Gauge } from 'prom-client';
import { WELL_KNOWN_LABELS } from '../../api/labels.ts';
import { own } from '../../api/own.ts';
import { timeOf } from '../../api/times.ts';
import type { Resources, StateNode } from '../../engine/model.ts';
import { isOwnedByDaemonSet, isTerminal } from '../../engine/pods.ts';
import {
  addResources,
  amountIn,
  podLimits,
  podRequests,
  readableResources,
  subtractResources,
} from '../../engine/resources.ts';
import type { Clock } from '../../kube/clock.ts';
import { after, type Outcome, type ReconcileContext, type Singleton } from '../../kube/reconciler.ts';
import type { Logger } from '../../observe/logger.ts';
import type { GaugeDeclaration } from '../../observe/metrics/declaration.ts';
import {
  CLUSTER_UTILIZATION_PERCENT,
  NODES_ALLOCATABLE,
  NODES_CURRENT_LIFETIME_SECONDS,
  NODES_SYSTEM_OVERHEAD,
  NODES_TOTAL_DAEMON_LIMITS,
  NODES_TOTAL_DAEMON_REQUESTS,
  NODES_TOTAL_POD_LIMITS,
  NODES_TOTAL_POD_REQUESTS,
  nodeLabelName,
} from '../../observe/metrics/nodes.ts';
import { type Labels, OwnedSeries } from '../../observe/owned-series.ts';
import type { ClusterState } from '../../state/cluster.ts';
import type { Deps } from '../deps.ts';
import { clusterStateMetrics } from './cluster-state.ts';

const INTERVAL_MS = 5_000;

/** Processors are measured in cores, everything else in its base unit. */
export const inUnits = (resource: string, amount: number): number => (resource === 'cpu' ? amount / 1_000 : amount);

export const resourceType = (resource: string): string => resource.toLowerCase().replaceAll('-', '_');

/** What pods request: not disks, huge pages and volumes, of which every node has some. */
const isMain = (resource: string): boolean => MAIN.has(resource) || resource.includes('/');
const MAIN: ReadonlySet<string> = new Set(['cpu', 'memory', 'pods']);

const KNOWN = [...WELL_KNOWN_LABELS].map((label) => ({ label, name: nodeLabelName(label) }));

const AMOUNTS = ['allocatable', 'podRequests', 'podLimits', 'daemonRequests', 'daemonLimits', 'overhead'] as const;
type Amounts = Readonly<Record<(typeof AMOUNTS)[number], Resources>>;

/** A node as it was measured. Cluster state replaces its nodes when they change, so the same object needs no new series. */
interface Measured {
  readonly node: StateNode;
  readonly labels: Labels;
  readonly amounts: Amounts;
}

export class NodeMetrics implements Singleton {
  readonly name = 'metrics.node';
  readonly singleton = true;
  readonly #clock: Clock;
  readonly #cluster: ClusterState;
  readonly #gauges: Readonly<Record<keyof Amounts, OwnedSeries>>;
  readonly #lifetime: OwnedSeries;
  readonly #utilization: Gauge<'resource_type'>;
  readonly #checkState: ReturnType<typeof clusterStateMetrics>;
  readonly #known = new Map<string, Measured>();

  constructor(deps: Deps) {
    const { clock, cluster, metrics } = deps;
    this.#clock = clock;
    this.#cluster = cluster;
    const series = (declaration: GaugeDeclaration): OwnedSeries => new OwnedSeries(metrics, declaration);
    this.#gauges = {
      allocatable: series(NODES_ALLOCATABLE),
      podRequests: series(NODES_TOTAL_POD_REQUESTS),
      podLimits: series(NODES_TOTAL_POD_LIMITS),
      daemonRequests: series(NODES_TOTAL_DAEMON_REQUESTS),
      daemonLimits: series(NODES_TOTAL_DAEMON_LIMITS),
      overhead: series(NODES_SYSTEM_OVERHEAD),
    };
    this.#lifetime = series(NODES_CURRENT_LIFETIME_SECONDS);
    this.#utilization = metrics.gauge(CLUSTER_UTILIZATION_PERCENT);
    this.#checkState = clusterStateMetrics(deps);
  }

  async reconcile({ log }: ReconcileContext): Promise<Outcome> {
    const nodes = this.#cluster.nodes().filter(({ node }) => node !== undefined);
    this.#forgetAllBut(new Set(nodes.map(({ providerId }) => providerId)));
    const measured = nodes.flatMap((node) => this.#measuredOrNone(node, log));
    for (const each of measured) this.#measureLifetime(each);
    this.#measureUse(measured);
    this.#checkState(nodes.length, log);
    return after(INTERVAL_MS);
  }

  #forgetAllBut(providerIds: ReadonlySet<string>): void {
    for (const providerId of this.#known.keys()) {
      if (providerIds.has(providerId)) continue;
      this.#known.delete(providerId);
      for (const series of [...Object.values(this.#gauges), this.#lifetime]) series.remove(providerId);
    }
  }

  /** One node that cannot be measured keeps no others from it. */
  #measuredOrNone(node: StateNode, log: Logger): readonly Measured[] {
    try {
      return [this.#measure(node)];
    } catch (error) {
      log.error('failed measuring node', { Node: { name: node.name }, error });
      return [];
    }
  }

  #measure(node: StateNode): Measured {
    const last = this.#known.get(node.providerId);
    if (last?.node === node) return last;
    const measured = { node, labels: labelsOf(node), amounts: amountsOf(node) };
    this.#known.set(node.providerId, measured);
    for (const name of AMOUNTS) {
      const samples = Object.entries(measured.amounts[name]).map(([resource, amount]) => ({
        labels: measured.labels,
        own: { resource_type: resourceType(resource) },
        value: inUnits(resource, amount),
        isDetail: !isMain(resource),
      }));
      this.#gauges[name].set(node.providerId, samples);
    }
    return measured;
  }

  #measureLifetime({ node, labels }: Measured): void {
    const bornMs = timeOf(node.node?.metadata.creationTimestamp);
    const value = Math.max(0, this.#clock.now() - bornMs) / 1_000;
    this.#lifetime.set(node.providerId, Number.isNaN(bornMs) ? [] : [{ labels, own: {}, value }]);
  }

  #measureUse(measured: readonly Measured[]): void {
    const total = addResources(...measured.map(({ amounts }) => amounts.allocatable));
    const requested = addResources(...measured.map(({ amounts }) => amounts.podRequests));
    this.#utilization.reset();
    for (const [resource, amount] of Object.entries(total)) {
      if (amount <= 0) continue;
      const percent = (100 * amountIn(requested, resource)) / amount;
      this.#utilization.set({ resource_type: resourceType(resource) }, percent);
    }
  }
}

function labelsOf(node: StateNode): Labels {
  const known = KNOWN.map(({ label, name }) => [name, own(node.labels, label) ?? '']);
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
  const capacity = readableResources(node.node?.status?.capacity);
  const allocatable = readableResources(node.node?.status?.allocatable);
  return {
    allocatable,
    podRequests: addResources(...running.map(podRequests)),
    podLimits: addResources(...running.map(podLimits)),
    daemonRequests: addResources(...daemons.map(podRequests)),
    daemonLimits: addResources(...daemons.map(podLimits)),
    overhead: subtractResources(capacity, allocatable),
  };
}
