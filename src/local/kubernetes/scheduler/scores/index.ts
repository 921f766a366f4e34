/**
 * Scores of feasible nodes with the weights of kube-scheduler's default profile. The score for existing images is
 * omitted, because local nodes report no images.
 */
import type { Pod } from '#api/objects';
import { untolerated } from '#engine/model';
import { podRequests, scoredRequests } from '../amounts.ts';
import { matchesTerm } from '../selectors.ts';
import type { ClusterView, NodeView } from '../view.ts';
import { podPreferences } from './pod-preferences.ts';
import { BEST, maximum, normalizeScores, type Score } from './score.ts';
import { topologySpreadScore } from './spread.ts';

/** TaintToleration: prefers nodes with few untolerated PreferNoSchedule taints. */
export const preferredTaints: Score = (pod, _cluster, nodes) => {
  const unpreferred = nodes.map(
    ({ node }) =>
      untolerated(pod.spec.tolerations, node.spec?.taints).filter(({ effect }) => effect === 'PreferNoSchedule').length,
  );
  return normalizeScores(unpreferred).map((one) => BEST - one);
};

/** NodeAffinity: sum of the weights of matching preferred terms. */
export const preferredNodes: Score = (pod, _cluster, nodes) => {
  const terms = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
  if (!terms?.length) return undefined;
  const weights = nodes.map(({ node }) =>
    terms.reduce((sum, { weight, preference }) => sum + (matchesTerm(preference, node) ? weight : 0), 0),
  );
  return normalizeScores(weights);
};

/** Scores by requested CPU and memory of a node. */
const freePercent = (requested: number, allocatable: number): number =>
  requested > allocatable ? 0 : Math.floor(((allocatable - requested) * BEST) / allocatable);

/** NodeResourcesFit with the strategy LeastAllocated: the free share of CPU and memory. */
export const leastAllocated: Score = (pod, _cluster, nodes) => {
  const { cpu = 0, memory = 0 } = scoredRequests(pod);
  return nodes.map(({ allocatable, scored }) => {
    const [allCpu, allMemory] = [allocatable.cpu ?? 0, allocatable.memory ?? 0];
    const freeCpu = allCpu === 0 ? undefined : freePercent((scored.cpu ?? 0) + cpu, allCpu);
    const freeMemory = allMemory === 0 ? undefined : freePercent((scored.memory ?? 0) + memory, allMemory);
    if (freeCpu !== undefined && freeMemory !== undefined) return Math.floor((freeCpu + freeMemory) / 2);
    return freeCpu ?? freeMemory ?? 0;
  });
};

/** Returns the similarity of both used shares, from 50 to 100. */
function balance(cpu: number, allCpu: number, memory: number, allMemory: number): number {
  if (allCpu === 0 || allMemory === 0) return BEST;
  const deviation = Math.abs((Math.min(1, cpu / allCpu) - Math.min(1, memory / allMemory)) / 2);
  return Math.trunc((1 - deviation) * BEST);
}

/**
 * NodeResourcesBalancedAllocation: 75 if the pod does not change the balance of the node, up to 100 if it improves the
 * balance.
 */
export const balancedAllocation: Score = (pod, _cluster, nodes) => {
  const { cpu = 0, memory = 0 } = podRequests(pod);
  if (cpu === 0 && memory === 0) return undefined;
  return nodes.map(({ allocatable, requested }) => {
    const [allCpu, allMemory] = [allocatable.cpu ?? 0, allocatable.memory ?? 0];
    const [usedCpu, usedMemory] = [requested.cpu ?? 0, requested.memory ?? 0];
    const before = balance(usedCpu, allCpu, usedMemory, allMemory);
    const after = balance(usedCpu + cpu, allCpu, usedMemory + memory, allMemory);
    return BEST / 2 + Math.floor((BEST / 2 + after - before) / 2);
  });
};

const SCORES: readonly (readonly [weight: number, score: Score])[] = [
  [3, preferredTaints],
  [2, preferredNodes],
  [1, leastAllocated],
  [2, topologySpreadScore],
  [2, podPreferences],
  [1, balancedAllocation],
];

/** Returns the rank of a node among nodes with equal scores. The node with the lowest rank is chosen. */
export type TieBreak = (pod: Pod, node: NodeView) => number | string;

/** Returns the score of each node. */
function totalScores(pod: Pod, nodes: readonly NodeView[], cluster: ClusterView): readonly number[] {
  const totals = nodes.map(() => 0);
  for (const [weight, score] of SCORES) {
    const rated = score(pod, cluster, nodes);
    if (rated === undefined) continue;
    for (let index = 0; index < totals.length; index += 1)
      totals[index] = (totals[index] ?? 0) + weight * (rated[index] ?? 0);
  }
  return totals;
}

/** Returns the nodes with the highest score, in the order of their names. */
export function bestNodes(pod: Pod, feasible: readonly NodeView[], cluster: ClusterView): readonly NodeView[] {
  if (feasible.length < 2) return feasible;
  const totals = totalScores(pod, feasible, cluster);
  const most = maximum(totals);
  const best = feasible.filter((_, index) => totals[index] === most);
  return best.length < 2 ? best : best.sort((a, b) => (a.name < b.name ? -1 : 1));
}
