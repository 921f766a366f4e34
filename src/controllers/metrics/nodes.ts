/**
 * Gauges of the resources of each node and of the utilization of the cluster, measured every few seconds. The samples are
 * created during the scrape, because a large cluster has a hundred thousand of them.
 */
import type { Gauge } from 'prom-client';
import { WELL_KNOWN_LABELS } from '#api/objects';
import {
  addResources,
  amountIn,
  isOwnedByDaemonSet,
  isTerminal,
  podLimits,
  podRequests,
  type Resources,
  readableResources,
  type StateNode,
  subtractResources,
} from '#engine/model';
import { after, type Outcome, type ReconcileContext, type Singleton } from '#kube/reconcilers';
import { own, timeOf } from '#lib';
import { type Clock, monotonicMs, yielding } from '#lib/clock';
import type { Logger } from '#observe/logger';
import {
  CLUSTER_STATE_NODE_COUNT,
  CLUSTER_STATE_SYNCED,
  CLUSTER_STATE_UNSYNCED_TIME_SECONDS,
  CLUSTER_UTILIZATION_PERCENT,
  differentSamples,
  type Labels,
  NODES_ALLOCATABLE,
  NODES_CURRENT_LIFETIME_SECONDS,
  NODES_SYSTEM_OVERHEAD,
  NODES_TOTAL_DAEMON_LIMITS,
  NODES_TOTAL_DAEMON_REQUESTS,
  NODES_TOTAL_POD_LIMITS,
  NODES_TOTAL_POD_REQUESTS,
  nodeLabelName,
  type Sample,
} from '#observe/metrics';
import type { ClusterState } from '#state';
import type { Deps } from '../deps.ts';

const INTERVAL_MS = 5_000;

/** Converts an amount to the unit of the metrics: cores for CPU, the base unit for other resources. */
export const inUnits = (resource: string, amount: number): number => (resource === 'cpu' ? amount / 1_000 : amount);

export const resourceType = (resource: string): string => resource.toLowerCase().replaceAll('-', '_');

/** Returns true for resources that pods typically request. Excludes disks, huge pages and volumes, which every node has. */
const isMain = (resource: string): boolean => MAIN.has(resource) || resource.includes('/');
const MAIN: ReadonlySet<string> = new Set(['cpu', 'memory', 'pods']);

const KNOWN = [...WELL_KNOWN_LABELS].map((label) => ({ label, name: nodeLabelName(label) }));

const GAUGES = {
  allocatable: NODES_ALLOCATABLE,
  podRequests: NODES_TOTAL_POD_REQUESTS,
  podLimits: NODES_TOTAL_POD_LIMITS,
  daemonRequests: NODES_TOTAL_DAEMON_REQUESTS,
  daemonLimits: NODES_TOTAL_DAEMON_LIMITS,
  overhead: NODES_SYSTEM_OVERHEAD,
} as const;
type Amounts = Readonly<Record<keyof typeof GAUGES, Resources>>;
const AMOUNTS = Object.keys(GAUGES) as readonly (keyof Amounts)[];

/**
 * Measurement of a node. The cluster state replaces a node object if the node changes, so an identical object needs no new
 * series.
 */
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
  readonly #utilization: Gauge<'resource_type'>;
  readonly #checkState: ReturnType<typeof clusterStateMetrics>;
  readonly #known = new Map<string, Measured>();

  constructor(deps: Deps) {
    const { clock, cluster, metrics } = deps;
    this.#clock = clock;
    this.#cluster = cluster;
    for (const name of AMOUNTS)
      metrics.readAtScrape(GAUGES[name], () =>
        differentSamples(this.#each(({ labels, amounts }) => amountSamples(labels, amounts[name]))),
      );
    metrics.readAtScrape(NODES_CURRENT_LIFETIME_SECONDS, () => differentSamples(this.#each(this.#lifetimeOf)));
    this.#utilization = metrics.gauge(CLUSTER_UTILIZATION_PERCENT);
    this.#checkState = clusterStateMetrics(deps);
  }

  async reconcile({ log }: ReconcileContext): Promise<Outcome> {
    const nodes = this.#cluster.nodes().filter(({ node }) => node !== undefined);
    this.#forgetAllBut(new Set(nodes.map(({ providerId }) => providerId)));
    const measured: Measured[] = [];
    const pause = yielding(() => monotonicMs(this.#clock));
    for (const node of nodes) {
      measured.push(...this.#measuredOrNone(node, log));
      await pause();
    }
    this.#measureUse(measured);
    this.#checkState(nodes.length, log);
    return after(INTERVAL_MS);
  }

  #forgetAllBut(providerIds: ReadonlySet<string>): void {
    for (const providerId of this.#known.keys()) if (!providerIds.has(providerId)) this.#known.delete(providerId);
  }

  /** Measures a node. A failure is logged and does not affect other nodes. */
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
    return measured;
  }

  /** Reads a copy of the current nodes, so nodes that are added during the iteration are not included. */
  *#each(samplesOf: (measured: Measured) => readonly Sample[]): Generator<readonly Sample[]> {
    for (const measured of [...this.#known.values()]) yield samplesOf(measured);
  }

  readonly #lifetimeOf = ({ node, labels }: Measured): readonly Sample[] => {
    const bornMs = timeOf(node.node?.metadata.creationTimestamp);
    return Number.isNaN(bornMs) ? [] : [{ labels, own: {}, value: Math.max(0, this.#clock.now() - bornMs) / 1_000 }];
  };

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

const amountSamples = (labels: Labels, amounts: Resources): readonly Sample[] =>
  Object.entries(amounts).map(([resource, amount]) => ({
    labels,
    own: { resource_type: resourceType(resource) },
    value: inUnits(resource, amount),
    isDetail: !isMain(resource),
  }));

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

/** Time without sync after which an error is logged, and the interval between such errors. */
const PATIENCE_MS = 30_000;
const REPEAT_MS = 10_000;

/** Returns a function to call every few seconds with the number of nodes. */
function clusterStateMetrics({ clock, cluster, metrics }: Deps): (nodes: number, log: Logger) => void {
  const count = metrics.gauge(CLUSTER_STATE_NODE_COUNT);
  const synced = metrics.gauge(CLUSTER_STATE_SYNCED);
  const unsynced = metrics.gauge(CLUSTER_STATE_UNSYNCED_TIME_SECONDS);
  let syncedMs = monotonicMs(clock);
  let loggedMs = Number.NEGATIVE_INFINITY;

  return (nodes, log) => {
    const nowMs = monotonicMs(clock);
    const isSynced = cluster.synced();
    if (isSynced) syncedMs = nowMs;
    count.set(nodes);
    synced.set(isSynced ? 1 : 0);
    unsynced.set((nowMs - syncedMs) / 1_000);
    if (nowMs - syncedMs <= PATIENCE_MS || nowMs - loggedMs < REPEAT_MS) return;
    loggedMs = nowMs;
    log.error('cluster state is not synced, no decisions are made', {
      error: `not synced for ${Math.round((nowMs - syncedMs) / 1_000)}s`,
      remedy: 'look for NodeClaims that are not launched and for kinds that cannot be listed',
    });
  };
}
