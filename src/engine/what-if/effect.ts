/** Compares the plans of a cluster before and after a change. All types of this file are public formats. */
import { NODEPOOL_LABEL, type Pod, type VolumeAttachment } from '#api/objects';
import { defined, timeOf, timestamp } from '#lib';
import { billedUsdPerHour } from '../billed-price.ts';
import type { Blocker } from '../blockers/blocker.ts';
import { isLost, predictBlockers } from '../blockers/drain.ts';
import { refusedVerdict } from '../causes/pod-verdict.ts';
import { billedPriceOf, type NodePrice } from '../cost/account.ts';
import { nodePrices } from '../cost/node-prices.ts';
import { currentlyReschedulable } from '../disruption/candidates/pod-blocks.ts';
import { readDeadline } from '../drain/deadline.ts';
import { compareText } from '../instance-types.ts';
import type { Plan, PlannedClaim, PoolInput, Snapshot, StateNode } from '../model.ts';
import { isReschedulable, isWaitingForEviction, podKey } from '../pods.ts';

/** Cluster before or after a change. */
export interface Situation {
  readonly snapshot: Snapshot;
  /** Pods of nodes that are being removed. */
  readonly leaving: readonly Pod[];
  /** All NodePools, with the instance types that determine the prices of nodes. */
  readonly pools: readonly PoolInput[];
}

export interface Planned {
  readonly situation: Situation;
  readonly plan: Plan;
}

/** Place of a pod after the change. Exactly one of `node`, `newNode` and `problem` is present. */
export interface MovedPod {
  /** `namespace/name`. */
  readonly pod: string;
  /** Name of an existing node. */
  readonly node?: string;
  /** Position in `newNodes`. */
  readonly newNode?: number;
  /** Reason why the pod stays on its node, stays pending, or does not exist any more. */
  readonly problem?: string;
}

export interface NewNode {
  readonly nodePool: string;
  /** Cheapest instance type. */
  readonly instanceType: string;
  readonly usdPerHour: number;
  /** Pods whose place the change determines. Other pods may share the node. */
  readonly pods: readonly string[];
}

/** Totals of a cluster after its pending pods have been placed. */
export interface ClusterTotals {
  /** Nodes that are not being removed, and new nodes. */
  readonly nodes: number;
  /** Part of these nodes that is launched for pending pods. */
  readonly newNodes: number;
  /** Sum of the billed prices of these nodes. Nodes with an unknown price do not count. */
  readonly usdPerHour: number;
  /** Pods that stay pending. */
  readonly unschedulable: number;
}

export interface NodeDrain {
  readonly node: string;
  readonly nodeClaim?: string;
  readonly nodePool?: string;
  /** False if a pod stays on the node without a time limit. */
  readonly canFinish: boolean;
  /** Maximum duration of the drain, from the NodeClaim. The remaining pods are deleted then. */
  readonly terminationGracePeriod?: string;
  /** RFC 3339. Earliest end of the drain, because of protections of pods that end at this time. */
  readonly earliestEnd?: string;
  /** Longest time for which an evicted pod may take to end, in seconds. */
  readonly podTerminationSeconds?: number;
  readonly blockers: readonly Blocker[];
  /** Price of the node in USD per hour. Absent if it is unknown. */
  readonly usdPerHour?: number;
}

export interface ChangeEffect {
  readonly before: ClusterTotals;
  /** Totals after the change and the end of all drains. */
  readonly after: ClusterTotals;
  /** Difference of the prices. Absent if the price of a drained node is unknown. */
  readonly usdPerHourAdded?: number;
  readonly drains: readonly NodeDrain[];
  /** Pods with another place than without the change. */
  readonly pods: readonly MovedPod[];
  /** Number of such pods that are not in the list. Absent if the list is complete. */
  readonly morePods?: number;
  /** New nodes with at least one of these pods. */
  readonly newNodes: readonly NewNode[];
}

const LOST = 'the pod has no controller, so nothing creates it again';
const STAYS = 'the pod cannot be evicted';
const LATE = 'the time limit was reached before the pod was evaluated';

/** Returns the pods that a solve must place: pending pods, and pods of nodes that are being removed. */
export function podsToSolve({ snapshot, leaving }: Situation, drained: ReadonlySet<string>): readonly Pod[] {
  const nodes = snapshot.nodes.filter(({ providerId }) => drained.has(providerId));
  const moving = nodes.flatMap((node) => movingPods(node, snapshot));
  const ofDrained = new Set(nodes.flatMap(({ pods }) => pods.map(podKey)));
  return [...snapshot.pendingPods, ...leaving.filter((pod) => !ofDrained.has(podKey(pod))), ...moving];
}

/** Returns the pods that the drain of a node moves to another node. A deadline also removes pods that cannot be evicted. */
function movingPods(node: StateNode, { podDisruptionBudgets, nowMs }: Snapshot): readonly Pod[] {
  const isForced = isLimited(node);
  return node.pods.filter(
    (pod) =>
      !isLost(pod) && (isForced ? isReschedulable(pod) : currentlyReschedulable(pod, podDisruptionBudgets, nowMs)),
  );
}

const isLimited = ({ nodeClaim }: StateNode): boolean =>
  nodeClaim?.spec.terminationGracePeriod !== undefined || Number.isFinite(readDeadline(nodeClaim));

export interface EffectParts {
  readonly before: Planned;
  readonly after: Planned;
  /** Provider ids of the nodes that the change drains. */
  readonly drained: ReadonlySet<string>;
  readonly volumeAttachments: readonly VolumeAttachment[];
}

export function effectOf({ before, after, drained, volumeAttachments }: EffectParts): ChangeEffect {
  const { snapshot } = after.situation;
  const drainedNodes = snapshot.nodes.filter(({ providerId }) => drained.has(providerId));
  const { plan } = after;
  const prices = pricesIn(before.situation);
  const refused = [...podsToSolve(after.situation, drained)].filter((pod) => plan.refusals.has(podKey(pod)));
  const drains = drainedNodes.map((node) =>
    drainOf(node, { ...after, refused, volumeAttachments, price: prices.get(node.providerId) }),
  );
  const totals = { before: totalsOf(before, new Set()), after: totalsOf(after, drained) };
  const isPriced = drains.every(({ usdPerHour }) => usdPerHour !== undefined);
  return {
    ...totals,
    ...defined({
      usdPerHourAdded: isPriced ? roundUsd(totals.after.usdPerHour - totals.before.usdPerHour) : undefined,
    }),
    drains,
    ...placesIn(before.plan, plan, drainedNodes),
  };
}

const pricesIn = ({ snapshot, pools }: Situation): ReadonlyMap<string, NodePrice> =>
  nodePrices(snapshot.nodes, pools, snapshot.commitments);

/** @param drained provider ids of nodes that leave */
export function totalsOf({ situation, plan }: Planned, drained: ReadonlySet<string>): ClusterTotals {
  const prices = pricesIn(situation);
  const staying = situation.snapshot.nodes.filter(
    ({ providerId, markedForDeletion }) => !markedForDeletion && !drained.has(providerId),
  );
  const running = staying.map(({ providerId }) => {
    const price = prices.get(providerId);
    return price === undefined ? 0 : billedPriceOf(price);
  });
  return {
    nodes: staying.length + plan.claims.length,
    newNodes: plan.claims.length,
    usdPerHour: roundUsd(sum([...running, ...plan.claims.map(billedUsdPerHour)])),
    unschedulable: plan.refusals.size,
  };
}

interface DrainParts extends Planned, Pick<EffectParts, 'volumeAttachments'> {
  readonly refused: readonly Pod[];
  readonly price: NodePrice | undefined;
}

function drainOf(node: StateNode, { situation, refused, volumeAttachments, price }: DrainParts): NodeDrain {
  const { snapshot } = situation;
  const blockers = predictBlockers(node, { ...snapshot, refused, volumeAttachments });
  const usd = price === undefined ? 0 : billedPriceOf(price);
  const ends = blockers.flatMap(({ until }) => until ?? []);
  const canFinish = isLimited(node) || blockers.every((blocker) => blocker.ends !== 'never');
  const seconds = node.pods
    .filter((pod) => isWaitingForEviction(pod, snapshot.nowMs))
    .map(({ spec }) => spec.terminationGracePeriodSeconds ?? 30);
  return {
    node: node.name,
    ...defined({ nodeClaim: node.nodeClaim?.metadata.name, nodePool: node.labels[NODEPOOL_LABEL] }),
    canFinish,
    ...defined({
      terminationGracePeriod: node.nodeClaim?.spec.terminationGracePeriod,
      earliestEnd: ends.length === 0 || !canFinish ? undefined : timestamp(Math.max(...ends.map(timeOf))),
      podTerminationSeconds: seconds.length === 0 ? undefined : Math.max(...seconds),
    }),
    blockers,
    ...defined({ usdPerHour: usd > 0 ? roundUsd(usd) : undefined }),
  };
}

/** Returns the places of pods that the change moves, and the new nodes with at least one of them. */
function placesIn(before: Plan, after: Plan, drained: readonly StateNode[]): Pick<ChangeEffect, 'pods' | 'newNodes'> {
  const places = placesOf(before);
  const changed = [...placesOf(after)].filter(([pod, place]) => places.get(pod) !== place);
  const moved = new Set(changed.map(([pod]) => pod));
  const claims = after.claims.filter(({ pods }) => pods.some((pod) => moved.has(pod)));
  const newNodeAt = new Map(claims.flatMap(({ pods }, at) => pods.map((pod) => [pod, at] as const)));
  const nodes = new Map(after.placements.flatMap(({ node, pods }) => pods.map((pod) => [pod, node] as const)));
  const pods = [...moved].map((pod): MovedPod => {
    const newNode = newNodeAt.get(pod);
    const node = nodes.get(pod);
    if (newNode !== undefined) return { pod, newNode };
    return node === undefined ? { pod, problem: problemOf(pod, after) } : { pod, node };
  });
  const remaining = drained
    .flatMap((node) => node.pods.filter(isReschedulable))
    .filter((pod) => !moved.has(podKey(pod)) && !places.has(podKey(pod)))
    .map((pod): MovedPod => ({ pod: podKey(pod), problem: isLost(pod) ? LOST : STAYS }));
  return {
    pods: [...pods, ...remaining].toSorted((a, b) => compareText(a.pod, b.pod)),
    newNodes: claims.map((claim) => newNodeOf(claim, moved)),
  };
}

function problemOf(pod: string, { refusals }: Plan): string {
  const refusal = refusals.get(pod);
  return refusal === undefined ? LATE : refusedVerdict(pod, refusal).text;
}

/** Returns the place of each pod as a text that is equal for equal places. New nodes of one NodePool are equal. */
function placesOf({ claims, placements, refusals, notEvaluated }: Plan): ReadonlyMap<string, string> {
  return new Map([
    ...claims.flatMap(({ nodePool, pods }) => pods.map((pod) => [pod, `new ${nodePool}`] as const)),
    ...placements.flatMap(({ node, pods }) => pods.map((pod) => [pod, `node ${node}`] as const)),
    ...[...refusals.keys()].map((pod) => [pod, 'pending'] as const),
    ...notEvaluated.map((pod) => [pod, 'late'] as const),
  ]);
}

const newNodeOf = (claim: PlannedClaim, moved: ReadonlySet<string>): NewNode => ({
  nodePool: claim.nodePool,
  instanceType: claim.cheapest,
  usdPerHour: roundUsd(billedUsdPerHour(claim)),
  pods: claim.pods.filter((key) => moved.has(key)),
});

/** Returns the effect with at most this many pods. */
export const withFewerPods = (effect: ChangeEffect, most: number): ChangeEffect =>
  effect.pods.length <= most
    ? effect
    : { ...effect, pods: effect.pods.slice(0, most), morePods: effect.pods.length - most };

/** Prediction of one drain. */
export interface DrainPlan
  extends Omit<NodeDrain, 'usdPerHour'>,
    Pick<ChangeEffect, 'pods' | 'morePods' | 'newNodes' | 'before' | 'after' | 'usdPerHourAdded'> {
  /** Nodes that are launched for pending pods in any case. */
  readonly newNodesWithoutDrain: number;
  readonly usdPerHour?: number;
}

/** Returns the effect of a change that drains one node, or undefined if the node is not part of the cluster. */
export function drainPlanOf({ drains: [drain], ...effect }: ChangeEffect): DrainPlan | undefined {
  return drain && { ...drain, ...effect, newNodesWithoutDrain: effect.before.newNodes };
}

/** Rounds prices. Further digits are rounding errors. */
const roundUsd = (usd: number): number => Number(usd.toFixed(6));

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
