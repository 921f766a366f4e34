/** Reports for every node the obstacles to its drain or disruption, the start of the wait, and the cost of the wait. */
import { getCondition, isTrue } from '../../api/conditions.ts';
import type { PodDisruptionBudget, VolumeAttachment } from '../../api/kubernetes.ts';
import { NODEPOOL_LABEL, TERMINATION_FINALIZER } from '../../api/labels.ts';
import { defined } from '../../lib/defined.ts';
import { timeOf, timestamp } from '../../lib/times.ts';
import { billedPriceOf, type NodePrice } from '../cost/account.ts';
import { nodePrices } from '../cost/node-prices.ts';
import { type Allowance, allowances } from '../disruption/budgets/budgets.ts';
import { candidateOf, isBlock } from '../disruption/pass.ts';
import type { BlockCode, DisruptionReason } from '../disruption/reasons.ts';
import { readDeadline } from '../drain/deadline.ts';
import type { PoolInput, StateNode } from '../model.ts';
import { doNotDisrupt, isActive, isReschedulable } from '../pods.ts';
import type { Commitment } from '../price-book/commitment.ts';
import type { Blocker, NodeBlockers, WaitingFor } from './blocker.ts';
import { type DrainContext, drainBlockers } from './draining.ts';
import { budgetedPods, protectedPods } from './pods.ts';

export interface BlockerContext {
  readonly nowMs: number;
  readonly nodes: readonly StateNode[];
  /** All managed NodePools, with the instance types that determine the prices of their nodes. */
  readonly pools: readonly PoolInput[];
  /** Commitments of the price book, which reduce prices. */
  readonly commitments?: readonly Commitment[] | undefined;
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
  readonly volumeAttachments: readonly VolumeAttachment[];
  readonly volumeClaim: DrainContext['volumeClaim'];
  /** Time of the first event about an obstacle of the Node or NodeClaim with this name, in milliseconds since the epoch. */
  readonly firstReported: ReadonlyMap<string, number>;
}

const HOUR_MS = 3_600_000;

/** Yields the nodes that have obstacles, in the given order. */
export function* blockersIn(context: BlockerContext): Generator<NodeBlockers> {
  const { nowMs, nodes, podDisruptionBudgets, volumeClaim } = context;
  const pools = new Map(context.pools.map((pool) => [pool.nodePool.metadata.name, pool]));
  const attachments = Map.groupBy(context.volumeAttachments, ({ spec }) => spec.nodeName);
  const prices = nodePrices(nodes, context.pools, context.commitments);
  const staying: StayContext = { nowMs, podDisruptionBudgets, pools, allowances: standings(context) };
  for (const node of nodes) {
    if (!isOurs(node)) continue;
    const waitsFor = waitOf(node);
    const own = attachments.get(node.node?.metadata.name ?? '') ?? [];
    const blockers =
      waitsFor === 'drain'
        ? drainBlockers(node, { nowMs, podDisruptionBudgets, attachments: own, volumeClaim })
        : stayBlockers(node, waitsFor, staying);
    if (blockers.length > 0) yield { ...described(node, waitsFor, { context, prices }), blockers };
  }
}

/** Returns a function that counts all nodes once for each reason, when the first node needs the result. */
function standings({ nodes, pools, nowMs }: BlockerContext): StayContext['allowances'] {
  const known = new Map<string, ReturnType<StayContext['allowances']>>();
  const nodePools = pools.map(({ nodePool }) => nodePool);
  return (reason) => {
    const found = known.get(reason) ?? allowances(nodes, nodePools, { reason, nowMs });
    known.set(reason, found);
    return found;
  };
}

/** Returns true if this project manages the node. A Node without a NodeClaim is drained only if it still has our finalizer. */
const isOurs = ({ node, nodeClaim }: StateNode): boolean =>
  nodeClaim !== undefined || (node?.metadata.finalizers ?? []).includes(TERMINATION_FINALIZER);

function waitOf({ node, nodeClaim }: StateNode): WaitingFor {
  const isLeaving = [node, nodeClaim].some((object) => object?.metadata.deletionTimestamp !== undefined);
  if (isLeaving) return 'drain';
  if (nodeClaim === undefined) return 'nothing';
  if (isTrue(nodeClaim, 'Drifted')) return 'drift';
  return isTrue(nodeClaim, 'Consolidatable') ? 'consolidation' : 'nothing';
}

interface Known {
  readonly context: BlockerContext;
  readonly prices: ReadonlyMap<string, NodePrice>;
}

function described(state: StateNode, waitsFor: WaitingFor, { context, prices }: Known): Omit<NodeBlockers, 'blockers'> {
  const { name, nodeClaim, labels, providerId } = state;
  const nodePool = labels[NODEPOOL_LABEL];
  const price = prices.get(providerId);
  const usdPerHour = price === undefined ? 0 : billedPriceOf(price);
  const sinceMs = beginOf(state, waitsFor, context.firstReported);
  const deadlineMs = readDeadline(nodeClaim);
  const hours =
    sinceMs === undefined || waitsFor === 'nothing' ? undefined : Math.max(0, context.nowMs - sinceMs) / HOUR_MS;
  return {
    node: name,
    ...defined({ nodeClaim: nodeClaim?.metadata.name, nodePool }),
    waitsFor,
    ...defined({
      since: sinceMs === undefined ? undefined : timestamp(sinceMs),
      usdPerHour: usdPerHour === 0 ? undefined : usdPerHour,
      usdSoFar: usdPerHour === 0 || hours === undefined ? undefined : Number((usdPerHour * hours).toFixed(6)),
      terminationGracePeriod: nodeClaim?.spec.terminationGracePeriod,
      endsAt: waitsFor === 'drain' && Number.isFinite(deadlineMs) ? timestamp(deadlineMs) : undefined,
    }),
  };
}

/** Returns the start of the wait: the time of the deletion, of the condition, or of the first event. */
function beginOf(
  { node, nodeClaim }: StateNode,
  waitsFor: WaitingFor,
  firstReported: BlockerContext['firstReported'],
): number | undefined {
  const names = [node, nodeClaim].flatMap((object) => (object === undefined ? [] : [object.metadata.name]));
  const times = {
    drain: [node, nodeClaim].map((object) => timeOf(object?.metadata.deletionTimestamp)),
    drift: [conditionMs(nodeClaim, 'Drifted')],
    consolidation: [conditionMs(nodeClaim, 'Consolidatable')],
    nothing: names.map((name) => firstReported.get(name) ?? Number.NaN),
  }[waitsFor].filter((ms) => !Number.isNaN(ms));
  return times.length === 0 ? undefined : Math.min(...times);
}

const conditionMs = (claim: StateNode['nodeClaim'], type: string): number =>
  timeOf(claim && getCondition(claim, type)?.lastTransitionTime);

interface StayContext {
  readonly nowMs: number;
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
  /** Managed NodePools by name. */
  readonly pools: ReadonlyMap<string, PoolInput>;
  /** Returns the use of the NodePools' budgets for a reason, by name. */
  readonly allowances: (reason: DisruptionReason) => ReadonlyMap<string, Allowance>;
}

/** Codes that are not obstacles: the node has no pending disruption, is not managed, or is being removed. */
const BESIDE_THE_POINT: ReadonlySet<BlockCode> = new Set(['unmanaged', 'no-node', 'in-progress', 'deleting']);
/** Codes that are reported for each pod, because the verdict contains only the first pod. */
const BY_PODS: ReadonlySet<BlockCode> = new Set(['pod-do-not-disrupt', 'pdb', 'several-pdbs']);

/** Finds the obstacles to the disruption of a node that is not being drained. */
function stayBlockers(node: StateNode, waitsFor: WaitingFor, context: StayContext): readonly Blocker[] {
  const { nowMs, pools, podDisruptionBudgets } = context;
  // drift continues if the terminationGracePeriod will eventually remove protected pods
  const disruption = waitsFor === 'drift' ? 'eventual' : 'graceful';
  const found = candidateOf(node, { nowMs, class: disruption, inProgress: new Set(), pools, podDisruptionBudgets });
  const budget = budgetBlocker(node, waitsFor, context);
  if (!isBlock(found)) return budget;
  if (BESIDE_THE_POINT.has(found.code)) return [];
  const { code, text, object } = found;
  const own: readonly Blocker[] = BY_PODS.has(code)
    ? []
    : [{ code, text, ...(object === undefined ? {} : { object }) }];
  const byPods = isCleared(node, waitsFor) ? [] : podBlockers(node, context);
  return [...own, ...byPods, ...budget];
}

const isCleared = ({ nodeClaim }: StateNode, waitsFor: WaitingFor): boolean =>
  waitsFor === 'drift' && nodeClaim?.spec.terminationGracePeriod !== undefined;

const podBlockers = ({ pods }: StateNode, { podDisruptionBudgets, nowMs }: StayContext): readonly Blocker[] => [
  ...protectedPods(
    pods.filter((pod) => isActive(pod) && doNotDisrupt(pod, nowMs)),
    nowMs,
  ),
  ...budgetedPods(pods, podDisruptionBudgets, nowMs),
];

function budgetBlocker(node: StateNode, waitsFor: WaitingFor, { allowances }: StayContext): readonly Blocker[] {
  const reason = reasonOf(node, waitsFor);
  const name = node.labels[NODEPOOL_LABEL] ?? '';
  const allowance = reason && allowances(reason).get(name);
  if (reason === undefined || allowance === undefined || allowance.remaining > 0) return [];
  const { allowed, disrupting, total } = allowance;
  const text = `budgets of NodePool ${name} allow ${allowed} of ${total} nodes to be disrupted for reason ${reason}, and ${disrupting} are; karpenter explain budgets shows when this changes`;
  return [{ code: 'budget', text, object: { kind: 'NodePool', name } }];
}

function reasonOf({ pods }: StateNode, waitsFor: WaitingFor): DisruptionReason | undefined {
  if (waitsFor === 'drift') return 'Drifted';
  if (waitsFor !== 'consolidation') return undefined;
  return pods.some(isReschedulable) ? 'Underutilized' : 'Empty';
}
