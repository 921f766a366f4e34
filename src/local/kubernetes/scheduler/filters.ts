/** The filters in kube-scheduler's order. A node is reported with the reasons of the first filter that rejects it. */
import type { Pod, Taint, TopologySpreadConstraint } from '#api/objects';
import { type HostPort, portConflict, selects } from '#engine/model';
import { own } from '#lib';
import { podRequests } from './amounts.ts';
import { dynamicResources } from './devices/filter.ts';
import type { Counted } from './domain-counts.ts';
import { NodeSearch } from './node-search.ts';
import { interPodAffinity } from './pod-affinity.ts';
import { matchesNodeSelection, withLabelKeys } from './selectors.ts';
import { findUntolerated, taintToleration, toleratesNode } from './taints.ts';
import { type Check, type ClusterView, type Filter, isRefusal, type NodeView } from './view.ts';
import { claimUses, volumeBinding } from './volumes.ts';

/** Returns the hard or soft constraints of a pod. */
export const constraintsOf = (
  pod: Pod,
  whenUnsatisfiable: TopologySpreadConstraint['whenUnsatisfiable'],
): readonly TopologySpreadConstraint[] =>
  (pod.spec.topologySpreadConstraints ?? []).filter((one) => one.whenUnsatisfiable === whenUnsatisfiable);

/**
 * Reports whether the constraint counts the node's domain. Its policies exclude nodes that the pod could not use
 * anyway.
 */
function counts(constraint: TopologySpreadConstraint, pod: Pod, { node }: NodeView): boolean {
  return (
    (constraint.nodeAffinityPolicy === 'Ignore' || matchesNodeSelection(pod, node)) &&
    (constraint.nodeTaintsPolicy !== 'Honor' || toleratesNode(pod.spec.tolerations, node))
  );
}

/** Reports whether the constraint counts all nodes. */
const countsAll = ({ nodeTaintsPolicy }: TopologySpreadConstraint, { spec }: Pod): boolean =>
  nodeTaintsPolicy !== 'Honor' &&
  spec.nodeSelector === undefined &&
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution === undefined;

interface Domains {
  /** Number of matching pods per value of the topology key. */
  readonly counts: ReadonlyMap<string, number>;
  /** True if the pod itself matches the selector. */
  readonly self: boolean;
}

/** Counts a constraint's pods over all nodes with the labels. */
export function podsOf(
  { topologyKey, labelSelector, matchLabelKeys }: TopologySpreadConstraint,
  nodeLabels: readonly string[],
  pod: Pod,
  cluster: ClusterView,
): Counted {
  const selector = withLabelKeys(labelSelector, pod, matchLabelKeys);
  return cluster.domainCounts.of({ namespace: pod.metadata.namespace, selector, topologyKey, nodeLabels });
}

/** Counts a constraint's pods in each domain, over nodes that have the labels and that the constraint includes. */
export function domainsOf(
  constraint: TopologySpreadConstraint,
  nodeLabels: readonly string[],
  pod: Pod,
  cluster: ClusterView,
): Domains {
  const selector = withLabelKeys(constraint.labelSelector, pod, constraint.matchLabelKeys);
  const self = selects(selector, pod.metadata.labels);
  const counted = podsOf(constraint, nodeLabels, pod, cluster);
  if (countsAll(constraint, pod)) return { counts: counted.pods, self };
  const found = new Map<string, number>();
  for (const view of cluster.nodes) {
    const part = counted.on(view);
    if (part !== undefined && counts(constraint, pod, view))
      found.set(part.domain, (found.get(part.domain) ?? 0) + part.pods);
  }
  return { counts: found, self };
}

/** Hard topology spread constraints. */
export const topologySpread: Filter = (pod, cluster): Check | undefined => {
  const constraints = constraintsOf(pod, 'DoNotSchedule');
  if (constraints.length === 0) return undefined;
  const keys = constraints.map(({ topologyKey }) => topologyKey);
  const compiled = constraints.map((constraint) => {
    const { counts: found, self } = domainsOf(constraint, keys, pod, cluster);
    // Missing domains count as empty. Without a domain, the minimum is 0, too.
    const least = found.size < (constraint.minDomains ?? 1) ? 0 : Math.min(...found.values());
    return { key: constraint.topologyKey, maxSkew: constraint.maxSkew, found, self, least };
  });
  return ({ labels }) => {
    for (const { key, maxSkew, found, self, least } of compiled) {
      const domain = own(labels, key);
      if (domain === undefined)
        return ["node(s) didn't match pod topology spread constraints (missing required label)"];
      // A domain without included nodes is empty.
      const skew = (found.get(domain) ?? 0) + (self ? 1 : 0) - least;
      if (skew > maxSkew) return ["node(s) didn't match pod topology spread constraints"];
    }
    return undefined;
  };
};

/**
 * Returns identities of the CSI volumes that a pod mounts, with their drivers. Unprovisioned volumes are identified by
 * their claim.
 */
function csiVolumes(pod: Pod, cluster: ClusterView): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const namespace = pod.metadata.namespace ?? '';
  for (const { name } of claimUses(pod)) {
    const claim = cluster.claim(namespace, name);
    const volume = claim?.spec.volumeName ? cluster.volume(claim.spec.volumeName) : undefined;
    if (volume?.spec.csi) found.set(`${volume.spec.csi.driver}/${volume.metadata.name}`, volume.spec.csi.driver);
    else if (claim && !volume) {
      const driver = cluster.storageClass(claim.spec.storageClassName ?? '')?.provisioner;
      if (driver) found.set(`${driver}/${namespace}/${name}`, driver);
    }
  }
  return found;
}

/** Attach limits that the node's CSI drivers report. Volumes that are already in use on the node do not count again. */
export const volumeLimits: Filter = (pod, cluster) => {
  const wanted = csiVolumes(pod, cluster);
  if (wanted.size === 0) return undefined;
  return ({ name, pods }) => {
    const drivers = cluster.csiNode(name)?.spec.drivers ?? [];
    const all = new Map(wanted);
    for (const other of pods) for (const [volume, driver] of csiVolumes(other, cluster)) all.set(volume, driver);
    const exceeded = [...new Set(wanted.values())].some((driver) => {
      const limit = drivers.find((one) => one.name === driver)?.allocatable?.count;
      return limit !== undefined && [...all.values()].filter((one) => one === driver).length > limit;
    });
    return exceeded ? ['node(s) exceed max volume count'] : undefined;
  };
};

/** Returns the host ports of a pod's containers and sidecars. */
function hostPorts(pod: Pod): readonly HostPort[] {
  const sidecars = (pod.spec.initContainers ?? []).filter((container) => container.restartPolicy === 'Always');
  return [...pod.spec.containers, ...sidecars].flatMap((container) =>
    (container.ports ?? []).flatMap(({ hostPort, containerPort, hostIP, protocol = 'TCP' }) => {
      const port = hostPort || (pod.spec.hostNetwork ? containerPort : undefined);
      return port ? [{ ip: hostIP || '0.0.0.0', port, protocol }] : [];
    }),
  );
}

/** Host ports must not be used by another pod on the node. */
export const nodePorts: Filter = (pod) => {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return undefined;
  return ({ pods }) => {
    const conflict = portConflict(wanted, pods.flatMap(hostPorts));
    return conflict && ["node(s) didn't have free ports for the requested pod ports"];
  };
};

const UNSCHEDULABLE: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** Cordoned nodes accept only pods that tolerate the unschedulable taint. */
export const nodeUnschedulable: Filter = (pod) => {
  if (!findUntolerated([UNSCHEDULABLE], pod.spec.tolerations, ['NoSchedule'])) return undefined;
  return ({ node }) => (node.spec?.unschedulable ? ['node(s) were unschedulable'] : undefined);
};

/** nodeSelector and required node affinity. */
export const nodeAffinity: Filter = (pod) => {
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!required && !pod.spec.nodeSelector) return undefined;
  return ({ node }) =>
    matchesNodeSelection(pod, node) ? undefined : ["node(s) didn't match Pod's node affinity/selector"];
};

interface Demand {
  readonly name: string;
  readonly amount: number;
  /** True if a device class provides the resource on nodes where no device plugin does. */
  readonly isOfDevices: boolean;
}

const demandsOf = (pod: Pod, { devices }: ClusterView): readonly Demand[] =>
  Object.entries(podRequests(pod))
    .filter(([, amount]) => amount > 0)
    .map(([name, amount]) => ({ name, amount, isOfDevices: devices?.classOf(name) !== undefined }));

function isShort({ name, amount, isOfDevices }: Demand, { allocatable, requested }: NodeView): boolean {
  const all = own(allocatable, name) ?? 0;
  return amount > all - (own(requested, name) ?? 0) && !(isOfDevices && all === 0);
}

/** Returns the result of `resourcesFit` without reasons. */
function hasRoom(demands: readonly Demand[], node: NodeView): boolean {
  for (const demand of demands) if (isShort(demand, node)) return false;
  return true;
}

/**
 * Requests must fit into the remaining resources of the node, including the number of pods. All shortages are reported.
 */
export const resourcesFit: Filter = (pod, cluster) => {
  const requests = demandsOf(pod, cluster).map((demand) => ({
    ...demand,
    shortage: demand.name === 'pods' ? 'Too many pods' : `Insufficient ${demand.name}`,
  }));
  return (node) => {
    let short: string[] | undefined;
    for (const demand of requests) {
      if (!isShort(demand, node)) continue;
      short ??= [];
      short.push(demand.shortage);
    }
    return short;
  };
};

export const FILTERS: readonly Filter[] = [
  nodeUnschedulable,
  taintToleration,
  nodeAffinity,
  nodePorts,
  resourcesFit,
  volumeLimits,
  volumeBinding,
  topologySpread,
  interPodAffinity,
  dynamicResources,
];

export type FilterVerdict =
  | { readonly fits: readonly NodeView[] }
  /** Message in kube-scheduler's words. */
  | { readonly message: string };

/** Returns the nodes that can run a pod, or the reason why there are none. */
export function feasibleNodes(
  pod: Pod,
  cluster: ClusterView,
  filters: readonly Filter[] = FILTERS,
  search: NodeSearch = new NodeSearch(),
): FilterVerdict {
  if (cluster.nodes.length === 0) return { message: 'no nodes available to schedule pods' };
  const total = cluster.nodes.length;
  const checks: Check[] = [];
  const besideRoom: Check[] = [];
  for (const filter of filters) {
    const answer = filter(pod, cluster);
    if (answer === undefined) continue;
    if (isRefusal(answer)) return { message: `0/${total} nodes are available: ${answer.refusal}.` };
    checks.push(answer);
    if (filter !== resourcesFit) besideRoom.push(answer);
  }
  // most nodes of a full cluster have no room, and reasons are necessary only if no node fits
  const demands = filters.includes(resourcesFit) ? demandsOf(pod, cluster) : [];
  const fits = search.find(
    cluster.nodes,
    (node) => hasRoom(demands, node) && firstRefusal(besideRoom, node) === undefined,
  );
  return fits.length > 0 ? { fits } : { message: messageOf(checks, cluster.nodes) };
}

/** Returns the reason why no node fits, in kube-scheduler's words. */
function messageOf(checks: readonly Check[], nodes: readonly NodeView[]): string {
  const reasons = new Map<string, number>();
  for (const node of nodes)
    for (const reason of firstRefusal(checks, node) ?? []) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const counted = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodes.length} nodes are available: ${counted.join(', ')}.`;
}

/** Returns the reasons of the first filter that rejects one node, or undefined if the pod fits on the node. */
export function firstRefusalOn(
  pod: Pod,
  node: NodeView,
  cluster: ClusterView,
  filters: readonly Filter[],
): readonly string[] | undefined {
  for (const filter of filters) {
    const check = filter(pod, cluster);
    if (check === undefined) continue;
    const refused = isRefusal(check) ? [check.refusal] : check(node);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

function firstRefusal(checks: readonly Check[], node: NodeView): readonly string[] | undefined {
  for (const check of checks) {
    const refused = check(node);
    if (refused !== undefined) return refused;
  }
  return undefined;
}
