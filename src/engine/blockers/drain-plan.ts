/** Predicts the drain of a node: its obstacles, the place of each pod, and the change of the cost. Types are public formats. */
import type { PodDisruptionBudget } from '../../api/kubernetes.ts';
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import { controllerOf } from '../../api/object-fields.ts';
import { defined } from '../../lib/defined.ts';
import { billedUsdPerHour } from '../billed-price.ts';
import { refusedVerdict } from '../causes/pod-verdict.ts';
import { billedPriceOf } from '../cost/account.ts';
import { nodePrices } from '../cost/node-prices.ts';
import { currentlyReschedulable } from '../disruption/candidates/pod-blocks.ts';
import { readDeadline } from '../drain/deadline.ts';
import type { Plan, PlannedClaim, PoolInput, Snapshot, SolveOptions, StateNode } from '../model.ts';
import { doNotDisrupt, isActive, isReschedulable, isWaitingForEviction, podKey } from '../pods.ts';
import { solve } from '../solve.ts';
import type { Blocker } from './blocker.ts';
import { budgetedPods, protectedPods } from './pods.ts';

/** Place of a pod after the drain. Exactly one of `node`, `newNode` and `problem` is present. */
export interface DrainedPod {
  /** `namespace/name`. */
  readonly pod: string;
  /** Name of an existing node. */
  readonly node?: string;
  /** Position in `newNodes`. */
  readonly newNode?: number;
  /** Reason why the pod stays on the node, stays pending, or does not exist any more. */
  readonly problem?: string;
}

export interface DrainNode {
  readonly nodePool: string;
  /** Cheapest instance type. */
  readonly instanceType: string;
  readonly usdPerHour: number;
  readonly pods: readonly string[];
}

export interface DrainPlan {
  readonly node: string;
  readonly nodeClaim?: string;
  readonly nodePool?: string;
  /** False if a pod stays on the node without a time limit. */
  readonly canFinish: boolean;
  /** Maximum duration of the drain, from the NodeClaim. The remaining pods are deleted then. */
  readonly terminationGracePeriod?: string;
  readonly blockers: readonly Blocker[];
  readonly pods: readonly DrainedPod[];
  /** Nodes that are launched because of the drain. */
  readonly newNodes: readonly DrainNode[];
  /** Nodes that are launched for pending pods in any case. */
  readonly newNodesWithoutDrain: number;
  /** Price of the node in USD per hour. Absent if it is unknown. */
  readonly usdPerHour?: number;
  /** Price of the new nodes minus the price of the node, in USD per hour. Absent if a price is unknown. */
  readonly usdPerHourAdded?: number;
}

export interface DrainContext {
  readonly snapshot: Snapshot;
  /** Pods of nodes that are being removed. */
  readonly leaving: Snapshot['pendingPods'];
  readonly pools: readonly PoolInput[];
  readonly options: SolveOptions;
}

const LOST = 'the pod has no controller, so nothing creates it again';
const STAYS = 'the pod cannot be evicted';

/** Returns the prediction. Solves the cluster with and without the drain, because some pods wait in any case. */
export function drainPlan(node: StateNode, context: DrainContext): DrainPlan {
  const { snapshot, leaving, options } = context;
  const { nowMs, podDisruptionBudgets } = snapshot;
  const waiting = [...snapshot.pendingPods, ...leaving];
  const own = node.pods.filter(isReschedulable);
  const lost = own.filter((pod) => controllerOf(pod) === undefined);
  const moving = own.filter((pod) => !lost.includes(pod) && currentlyReschedulable(pod, podDisruptionBudgets, nowMs));
  const leavingNow = new Set(waiting.map(podKey));
  const before = solve({ ...snapshot, pendingPods: waiting }, options);
  // the node counts toward the limits of its NodePool until it is gone
  const nodes = snapshot.nodes.map((each) =>
    each.providerId === node.providerId ? { ...each, markedForDeletion: true } : each,
  );
  const pendingPods = [...waiting, ...moving.filter((pod) => !leavingNow.has(podKey(pod)))];
  const after = solve({ ...snapshot, nodes, pendingPods }, { ...options, explain: true });
  const moved = new Set(moving.map(podKey));
  const { newNodes, pods } = placesIn(after, moved);
  const usd = priceOf(node, context);
  const addedUsd = sum(after.claims.map(billedUsdPerHour)) - sum(before.claims.map(billedUsdPerHour));
  const blockers = obstacles(node, podDisruptionBudgets, nowMs);
  const { terminationGracePeriod } = node.nodeClaim?.spec ?? {};
  const isLimited = terminationGracePeriod !== undefined || Number.isFinite(readDeadline(node.nodeClaim));
  const rest = own.filter((pod) => !moved.has(podKey(pod)));
  return {
    node: node.name,
    ...defined({ nodeClaim: node.nodeClaim?.metadata.name, nodePool: node.labels[NODEPOOL_LABEL] }),
    canFinish: isLimited || blockers.every(({ until }) => until !== undefined),
    ...defined({ terminationGracePeriod }),
    blockers,
    pods: [...pods, ...rest.map((pod) => ({ pod: podKey(pod), problem: lost.includes(pod) ? LOST : STAYS }))],
    newNodes,
    newNodesWithoutDrain: before.claims.length,
    ...defined({ usdPerHour: usd, usdPerHourAdded: usd === undefined ? undefined : roundUsd(addedUsd - usd) }),
  };
}

/** Returns the obstacles to evictions now. */
function obstacles({ pods }: StateNode, budgets: readonly PodDisruptionBudget[], nowMs: number): readonly Blocker[] {
  const evicted = pods.filter((pod) => isWaitingForEviction(pod, nowMs) && isActive(pod));
  return [
    ...protectedPods(
      evicted.filter((pod) => doNotDisrupt(pod, nowMs)),
      nowMs,
    ),
    ...budgetedPods(evicted, budgets, nowMs),
  ];
}

/** Returns the places of the moved pods, and the new nodes with at least one of them. */
function placesIn(plan: Plan, moved: ReadonlySet<string>): Pick<DrainPlan, 'newNodes' | 'pods'> {
  const claims = plan.claims.filter(({ pods }) => pods.some((key) => moved.has(key)));
  const newNodes = claims.map((claim) => newNodeOf(claim, moved));
  const placed = plan.placements.flatMap(({ node, pods }) => pods.map((pod) => ({ pod, node })));
  const launched = newNodes.flatMap(({ pods }, newNode) => pods.map((pod) => ({ pod, newNode })));
  const refused = [...plan.refusals].map(([pod, refusal]) => ({ pod, problem: refusedVerdict(pod, refusal).text }));
  const late = plan.notEvaluated.map((pod) => ({
    pod,
    problem: 'the time limit was reached before the pod was evaluated',
  }));
  const pods = [...placed, ...launched, ...refused, ...late].filter(({ pod }) => moved.has(pod));
  return { newNodes, pods: pods.toSorted((a, b) => (a.pod < b.pod ? -1 : 1)) };
}

const newNodeOf = (claim: PlannedClaim, moved: ReadonlySet<string>): DrainNode => ({
  nodePool: claim.nodePool,
  instanceType: claim.cheapest,
  usdPerHour: roundUsd(billedUsdPerHour(claim)),
  pods: claim.pods.filter((key) => moved.has(key)),
});

function priceOf(node: StateNode, { snapshot, pools }: DrainContext): number | undefined {
  const price = nodePrices(snapshot.nodes, pools, snapshot.commitments).get(node.providerId);
  const usd = price === undefined ? 0 : billedPriceOf(price);
  return usd > 0 ? roundUsd(usd) : undefined;
}

/** Rounds prices. Further digits are rounding errors. */
const roundUsd = (usd: number): number => Number(usd.toFixed(6));

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
