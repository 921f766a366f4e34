/** PodTopologySpread: prefers domains with few matching pods. */

import { HOSTNAME_LABEL, type Pod, type TopologySpreadConstraint, ZONE_LABEL } from '#api/objects';
import { own } from '#lib';
import { constraintsOf, domainsOf, podsOf } from '../filters.ts';
import type { ClusterView, NodeView } from '../view.ts';
import { BEST, maximum, type Score } from './score.ts';

const SYSTEM_DEFAULTS = [
  { maxSkew: 3, topologyKey: HOSTNAME_LABEL, whenUnsatisfiable: 'ScheduleAnyway' },
  { maxSkew: 5, topologyKey: ZONE_LABEL, whenUnsatisfiable: 'ScheduleAnyway' },
] as const;

interface Soft {
  readonly constraints: readonly TopologySpreadConstraint[];
  /**
   * True if nodes without all topology keys get the lowest score. System defaults score them by their existing keys.
   */
  readonly needsAllKeys: boolean;
}

/** Returns the soft constraints of the pod, or the system defaults if the pod has no constraints. */
function softConstraints(pod: Pod, cluster: ClusterView): Soft {
  if (pod.spec.topologySpreadConstraints?.length)
    return { constraints: constraintsOf(pod, 'ScheduleAnyway'), needsAllKeys: true };
  const labelSelector = cluster.defaultSelector(pod);
  const constraints = labelSelector ? SYSTEM_DEFAULTS.map((one) => ({ ...one, labelSelector })) : [];
  return { constraints, needsAllKeys: false };
}

/** Returns the weighted number of matching pods in a node's domain of one topology, or 0 if the node has no domain. */
type Rating = (node: NodeView) => number;

function ratingOf(
  constraint: TopologySpreadConstraint,
  keys: readonly string[],
  pod: Pod,
  cluster: ClusterView,
  nodes: readonly NodeView[],
): Rating {
  const { topologyKey, maxSkew } = constraint;
  const isHostname = topologyKey === HOSTNAME_LABEL;
  // Every node counts as a separate domain, even if nodes share a hostname.
  const domains = isHostname ? nodes.length : new Set(nodes.map(({ labels }) => own(labels, topologyKey))).size;
  // Domains of large topologies contain fewer pods each, so that their counts have more weight.
  const weight = Math.log(domains + 2);
  const rate = (count: number): number => count * weight + (maxSkew - 1);
  if (isHostname) {
    const counted = podsOf(constraint, keys, pod, cluster);
    return (node) => {
      const part = counted.on(node);
      return part === undefined ? 0 : rate(part.pods);
    };
  }
  const { counts } = domainsOf(constraint, keys, pod, cluster);
  return ({ labels }) => {
    const domain = own(labels, topologyKey);
    return domain === undefined ? 0 : rate(counts.get(domain) ?? 0);
  };
}

export const topologySpreadScore: Score = (pod, cluster, nodes) => {
  const { constraints, needsAllKeys } = softConstraints(pod, cluster);
  if (constraints.length === 0) return undefined;
  const keys = constraints.map(({ topologyKey }) => topologyKey);
  const hasAll = ({ labels }: NodeView): boolean => keys.every((key) => own(labels, key) !== undefined);
  const rated = needsAllKeys ? nodes.filter(hasAll) : nodes;
  const ratings = constraints.map((constraint) =>
    ratingOf(constraint, needsAllKeys ? keys : [constraint.topologyKey], pod, cluster, rated),
  );
  const raw = new Map(rated.map((node) => [node, Math.round(ratings.reduce((sum, rating) => sum + rating(node), 0))]));
  const values = [...raw.values()];
  const most = maximum(values);
  const least = values.reduce((low, one) => (one < low ? one : low), most);
  return nodes.map((node) => {
    const one = raw.get(node);
    if (one === undefined) return 0;
    return most === 0 ? BEST : Math.floor((BEST * (most + least - one)) / most);
  });
};
