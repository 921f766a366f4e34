/** Scores of kube-scheduler's default profile for pods without constraints, on nodes of one zone. */
import type { Size } from './demand.ts';

/** Node with the requests of its pods. */
export interface ScoredNode extends Size {
  readonly offer: Size;
  /** True if the node has a PreferNoSchedule taint. */
  readonly isMarked: boolean;
}

/** Pods of the same workload, which the system default constraints spread. */
export interface Replicas<Node> {
  on(node: Node): number;
  readonly all: number;
}

const BEST = 100;
const [TAINT_WEIGHT, SPREAD_WEIGHT] = [3, 2];
/** Maximum skews of the system defaults. */
const [HOST_SKEW, ZONE_SKEW] = [3, 5];

const free = (used: number, all: number): number => (used > all ? 0 : Math.floor(((all - used) * BEST) / all));

const balance = (cpu: number, memory: number): number =>
  Math.trunc((1 - Math.abs((Math.min(1, cpu) - Math.min(1, memory)) / 2)) * BEST);

function resourceScore(pod: Size, { offer, cpu, memory }: ScoredNode): number {
  const least = Math.floor((free(cpu + pod.cpu, offer.cpu) + free(memory + pod.memory, offer.memory)) / 2);
  const before = balance(cpu / offer.cpu, memory / offer.memory);
  const after = balance((cpu + pod.cpu) / offer.cpu, (memory + pod.memory) / offer.memory);
  return least + BEST / 2 + Math.floor((BEST / 2 + after - before) / 2);
}

/** Returns the first node with the highest score, or undefined if there are no nodes. */
export function bestNode<Node extends ScoredNode>(
  pod: Size,
  feasible: readonly Node[],
  replicas?: Replicas<Node>,
): Node | undefined {
  if (feasible.length < 2) return feasible[0];
  const anyMarked = feasible.some(({ isMarked }) => isMarked);
  const crowds = replicas === undefined ? undefined : crowdsOf(feasible, replicas);
  const [most, least] = crowds === undefined ? [0, 0] : [Math.max(...crowds), Math.min(...crowds)];
  let best: Node | undefined;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const [index, node] of feasible.entries()) {
    let score = resourceScore(pod, node);
    if (anyMarked && !node.isMarked) score += TAINT_WEIGHT * BEST;
    if (crowds !== undefined)
      score += SPREAD_WEIGHT * Math.floor((BEST * (most + least - (crowds[index] ?? 0))) / most);
    if (score > bestScore) [best, bestScore] = [node, score];
  }
  return best;
}

/** Returns the weighted number of replicas on the host and in the zone of each node. */
function crowdsOf<Node>(feasible: readonly Node[], { on, all }: Replicas<Node>): readonly number[] {
  const zone = all * Math.log(1 + 2) + ZONE_SKEW - 1;
  const weight = Math.log(feasible.length + 2);
  return feasible.map((node) => Math.round(on(node) * weight + HOST_SKEW - 1 + zone));
}
