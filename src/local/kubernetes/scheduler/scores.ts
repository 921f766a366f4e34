/** How much the scheduler likes each feasible node: kube-scheduler's scores and weights, in short form. */
import type { Pod } from '../../../api/kubernetes.ts';
import { own } from '../../../lib/own.ts';
import { podRequests } from './amounts.ts';
import { termOf } from './pod-affinity.ts';
import { matchesTerm } from './selectors.ts';
import { constraintsOf, domainsOf } from './spread.ts';
import { tolerates } from './taints.ts';
import type { ClusterView, NodeView } from './view.ts';

type Score = (pod: Pod, cluster: ClusterView) => ((node: NodeView) => number) | undefined;

/** Weight 1: the share of CPU and memory that stays free. */
const leastAllocated: Score = (pod) => {
  const { cpu = 0, memory = 0 } = podRequests(pod);
  const free = ({ allocatable, requested }: NodeView, name: string, amount: number): number => {
    const all = own(allocatable, name) ?? 0;
    return all > 0 ? (all - (own(requested, name) ?? 0) - amount) / all : 0;
  };
  return (node) => (100 * (free(node, 'cpu', cpu) + free(node, 'memory', memory))) / 2;
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
    // Resources are shares already; the others are stretched over 0 to 100.
    addTo(totals, weight, score === leastAllocated ? raw : stretched(raw));
  }
  let best = 0;
  for (let index = 1; index < feasible.length; index += 1) {
    const [lead, name] = [at(totals, index) - at(totals, best), feasible[index]?.name ?? ''];
    if (lead > 0 || (lead === 0 && name < (feasible[best]?.name ?? ''))) best = index;
  }
  return feasible[best];
}

const at = (numbers: readonly number[], index: number): number => numbers[index] ?? 0;

function addTo(totals: number[], weight: number, scores: readonly number[]): void {
  for (let index = 0; index < totals.length; index += 1) totals[index] = at(totals, index) + weight * at(scores, index);
}

function stretched(raw: readonly number[]): readonly number[] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const one of raw) {
    if (one < low) low = one;
    if (one > high) high = one;
  }
  return raw.map((one) => (high > low ? (100 * (one - low)) / (high - low) : 0));
}
