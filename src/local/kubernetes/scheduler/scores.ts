/** How much the scheduler likes each feasible node: kube-scheduler's scores and weights, in short form. */
import type { Pod } from '../../../api/kubernetes.ts';
import { own } from '../../../api/own.ts';
import { podRequests } from './amounts.ts';
import { termOf } from './pod-affinity.ts';
import { matchesTerm } from './selectors.ts';
import { constraintsOf, domainsOf } from './spread.ts';
import { tolerates } from './taints.ts';
import type { ClusterView, NodeView } from './view.ts';

type Score = (pod: Pod, cluster: ClusterView) => ((node: NodeView) => number) | undefined;

/** Weight 1: the share of CPU and memory that stays free. */
const leastAllocated: Score = (pod) => {
  const requests = podRequests(pod);
  return ({ allocatable, requested }) => {
    const free = ['cpu', 'memory'].map((name) => {
      const all = own(allocatable, name) ?? 0;
      return all > 0 ? (all - (own(requested, name) ?? 0) - (own(requests, name) ?? 0)) / all : 0;
    });
    return (100 * free.reduce((sum, share) => sum + share, 0)) / free.length;
  };
};

/** Weight 3: fewest untolerated PreferNoSchedule taints. */
const preferredTaints: Score =
  (pod) =>
  ({ node }) =>
    -(node.spec?.taints ?? []).filter(
      (taint) =>
        taint.effect === 'PreferNoSchedule' &&
        !pod.spec.tolerations?.some((toleration) => tolerates(toleration, taint)),
    ).length;

/** Weight 2: preferred node affinity. */
const preferredNodes: Score = (pod) => {
  const terms = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
  if (!terms?.length) return undefined;
  return ({ node }) =>
    terms.reduce((sum, { weight, preference }) => sum + (matchesTerm(preference, node) ? weight : 0), 0);
};

/** Weight 2: preferred pod affinity and anti-affinity. */
const preferredPods: Score = (pod, cluster) => {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const weighted = [
    ...(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((one) => ({ ...one, sign: 1 })),
    ...(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((one) => ({ ...one, sign: -1 })),
  ];
  if (weighted.length === 0) return undefined;
  const sums = new Map<string, number>();
  for (const { weight, podAffinityTerm, sign } of weighted) {
    const term = termOf(podAffinityTerm, pod, cluster);
    for (const { labels, pods } of cluster.nodes) {
      const value = own(labels, term.topologyKey);
      if (value === undefined) continue;
      const place = `${term.topologyKey}=${value}`;
      const matching = pods.filter((other) => term.matches(other)).length;
      sums.set(place, (sums.get(place) ?? 0) + sign * weight * matching);
    }
  }
  return ({ labels }) => {
    const keys = new Set(weighted.map(({ podAffinityTerm }) => podAffinityTerm.topologyKey));
    return [...keys].reduce((sum, key) => sum + (sums.get(`${key}=${own(labels, key)}`) ?? 0), 0);
  };
};

/** Weight 2: spread constraints that need not hold. */
const preferredSpread: Score = (pod, cluster) => {
  const constraints = constraintsOf(pod, 'ScheduleAnyway');
  if (constraints.length === 0) return undefined;
  const counted = constraints.map((constraint) => ({
    key: constraint.topologyKey,
    ...domainsOf(constraint, constraints, pod, cluster),
  }));
  return ({ labels }) => -counted.reduce((sum, { key, counts }) => sum + (counts.get(own(labels, key) ?? '') ?? 0), 0);
};

const SCORES: readonly (readonly [weight: number, score: Score])[] = [
  [1, leastAllocated],
  [3, preferredTaints],
  [2, preferredNodes],
  [2, preferredPods],
  [2, preferredSpread],
];

/** Picks the best of the feasible nodes; equal ones by name, so that a run can be repeated. */
export function bestNode(pod: Pod, feasible: readonly NodeView[], cluster: ClusterView): NodeView | undefined {
  if (feasible.length < 2) return feasible[0];
  const totals = feasible.map(() => 0);
  for (const [weight, score] of SCORES) {
    const rate = score(pod, cluster);
    if (!rate) continue;
    const raw = feasible.map(rate);
    const [low, high] = [Math.min(...raw), Math.max(...raw)];
    // Resources are shares already; the others are stretched over 0 to 100.
    const scaled =
      score === leastAllocated ? raw : raw.map((one) => (high > low ? (100 * (one - low)) / (high - low) : 0));
    for (const [index, one] of scaled.entries()) totals[index] = (totals[index] ?? 0) + weight * one;
  }
  const ranked = feasible
    .map((node, index) => ({ node, total: totals[index] ?? 0 }))
    .sort((a, b) => b.total - a.total || (a.node.name < b.node.name ? -1 : 1));
  return ranked[0]?.node;
}
