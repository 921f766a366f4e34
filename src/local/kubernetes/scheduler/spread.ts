import type { Pod, TopologySpreadConstraint } from '../../../api/kubernetes.ts';
import { selects } from '../../../engine/selectors.ts';
import { own } from '../../../lib/own.ts';
import type { Counted } from './domain-counts.ts';
import { matchesNodeSelection, withLabelKeys } from './selectors.ts';
import { toleratesNode } from './taints.ts';
import type { Check, ClusterView, Filter, NodeView } from './view.ts';

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

export interface Domains {
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
    // Missing domains count as empty. If there is no domain, the minimum is 0, too.
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
