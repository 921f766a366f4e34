/** The filters in kube-scheduler's order. A node is reported with the reasons of the first filter that rejects it. */

import type { Pod, Taint } from '../../../api/kubernetes.ts';
import { type HostPort, portConflict } from '../../../engine/host-ports.ts';
import { own } from '../../../lib/own.ts';
import { podRequests } from './amounts.ts';
import { dynamicResources } from './devices/filter.ts';
import { NodeSearch } from './node-search.ts';
import { interPodAffinity } from './pod-affinity.ts';
import { matchesNodeSelection } from './selectors.ts';
import { topologySpread } from './spread.ts';
import { findUntolerated, taintToleration } from './taints.ts';
import { type Check, type ClusterView, type Filter, isRefusal, type NodeView } from './view.ts';
import { claimUses, volumeBinding } from './volumes.ts';

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

export type Verdict =
  | { readonly fits: readonly NodeView[] }
  /** Message in kube-scheduler's words. */
  | { readonly message: string; readonly isParked?: boolean };

/** Returns the nodes that can run a pod, or the reason why there are none. */
export function feasibleNodes(
  pod: Pod,
  cluster: ClusterView,
  filters: readonly Filter[] = FILTERS,
  search: NodeSearch = new NodeSearch(),
): Verdict {
  if (cluster.nodes.length === 0) return { message: 'no nodes available to schedule pods' };
  const total = cluster.nodes.length;
  const checks: Check[] = [];
  const besideRoom: Check[] = [];
  for (const filter of filters) {
    const answer = filter(pod, cluster);
    if (answer === undefined) continue;
    if (isRefusal(answer)) {
      const { refusal, isParked = false } = answer;
      return { message: `0/${total} nodes are available: ${refusal}.`, ...(isParked && { isParked }) };
    }
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

function firstRefusal(checks: readonly Check[], node: NodeView): readonly string[] | undefined {
  for (const check of checks) {
    const refused = check(node);
    if (refused !== undefined) return refused;
  }
  return undefined;
}
