/**
 * Scores of feasible nodes with the weights of kube-scheduler's default profile. The score for existing images is
 * omitted, because local nodes report no images.
 */
import type { Pod } from '../../../../api/kubernetes.ts';
import type { ClusterView, NodeView } from '../view.ts';
import { preferredNodes, preferredTaints } from './node-preferences.ts';
import { podPreferences } from './pod-preferences.ts';
import { balancedAllocation, leastAllocated } from './resources.ts';
import { maximum, type Score } from './score.ts';
import { topologySpreadScore } from './spread.ts';

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
export function totalScores(pod: Pod, nodes: readonly NodeView[], cluster: ClusterView): readonly number[] {
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
