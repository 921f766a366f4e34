/** The filters in kube-scheduler's order. A node is reported with the reasons of the first filter that rejects it. */
import type { Pod, Taint } from '../../../api/kubernetes.ts';
import { own } from '../../../lib/own.ts';
import { podRequests } from './amounts.ts';
import { dynamicResources } from './devices/filter.ts';
import { NodeSearch } from './node-search.ts';
import { interPodAffinity } from './pod-affinity.ts';
import { nodePorts } from './ports.ts';
import { matchesNodeSelection } from './selectors.ts';
import { topologySpread } from './spread.ts';
import { findUntolerated, taintToleration } from './taints.ts';
import { type Check, type ClusterView, type Filter, isRefusal, type NodeView } from './view.ts';
import { volumeLimits } from './volume-limits.ts';
import { volumeBinding } from './volumes.ts';

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
