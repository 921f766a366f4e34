/** Reports for every node the obstacles to its drain or disruption, the start of the wait, and the cost of the wait. */

import {
  getCondition,
  isTrue,
  NODEPOOL_LABEL,
  type PersistentVolumeClaim,
  type Pod,
  type PodDisruptionBudget,
  TERMINATION_FINALIZER,
  TERMINATION_TIMESTAMP_ANNOTATION,
  type VolumeAttachment,
} from '#api/objects';
import { defined, timeOf, timestamp } from '#lib';
import { billedPriceOf, type NodePrice } from '../cost/account.ts';
import { nodePrices } from '../cost/node-prices.ts';
import { type Allowance, allowances } from '../disruption/budgets/budgets.ts';
import { type MoveWorth, roundWorth } from '../disruption/move-worth.ts';
import { described as candidateFrom, candidateOf, isBlock } from '../disruption/pass.ts';
import { type ForecastOptions, forecastsOf } from '../disruption/pricing/forecast.ts';
import { withWorth } from '../disruption/pricing/move-price.ts';
import type { BlockCode, DisruptionReason } from '../disruption/reasons.ts';
import { holdingRollout, rolloutRemedy, rolloutText } from '../disruption/rollout/rollout.ts';
import { usesDevices } from '../dra/pod-claims.ts';
import { pendingAttachments } from '../drain/attachments.ts';
import { readDeadline } from '../drain/deadline.ts';
import { type GangUnit, gangUnits } from '../gangs/gang-units.ts';
import type { EngineSnapshot, PoolInput, StateNode } from '../model.ts';
import {
  doNotDisrupt,
  isActive,
  isReschedulable,
  isTerminating,
  isWaitingForEviction,
  podKey,
  STUCK_MS,
} from '../pods.ts';
import type { Commitment } from '../price-book/commitment.ts';
import type { Blocker, NodeBlockers, WaitingFor } from './blocker.ts';
import { budgetedPods, podKeys, protectedPods } from './pods.ts';

export interface BlockerContext {
  readonly nowMs: number;
  readonly nodes: readonly StateNode[];
  readonly gangGroups?: EngineSnapshot['gangGroups'];
  /** All managed NodePools, with the instance types that determine the prices of their nodes. */
  readonly pools: readonly PoolInput[];
  /** Commitments of the price book, which reduce prices. */
  readonly commitments?: readonly Commitment[] | undefined;
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
  /** Price of an eviction besides lost work. Undefined if moves have no price. */
  readonly evictionUsd?: number | undefined;
  readonly failuresOf?: ForecastOptions['failuresOf'];
  /** True if the operator ignores resource claims. Pods with claims then cannot move to another node. */
  readonly ignoresClaims: boolean;
  readonly volumeAttachments: readonly VolumeAttachment[];
  readonly volumeClaim: DrainContext['volumeClaim'];
  /** Time of the first event about an obstacle of the Node or NodeClaim with this name, in milliseconds since the epoch. */
  readonly firstReported: ReadonlyMap<string, number>;
}

const HOUR_MS = 3_600_000;

/** Yields the nodes that have obstacles, in the given order. */
export function* blockersIn(context: BlockerContext): Generator<NodeBlockers> {
  const { nowMs, nodes, podDisruptionBudgets, ignoresClaims, volumeClaim } = context;
  const pools = new Map(context.pools.map((pool) => [pool.nodePool.metadata.name, pool]));
  const attachments = Map.groupBy(context.volumeAttachments, ({ spec }) => spec.nodeName);
  const prices = nodePrices(nodes, context.pools, context.commitments);
  const worthOf = worths(context, pools);
  const gangs = gangUnits(nodes, context.gangGroups);
  const staying = { nowMs, podDisruptionBudgets, ignoresClaims, pools, gangs, allowances: standings(context) };
  for (const node of nodes) {
    if (!isOurs(node)) continue;
    const waitsFor = waitOf(node);
    const own = attachments.get(node.node?.metadata.name ?? '') ?? [];
    const blockers =
      waitsFor === 'drain'
        ? drainBlockers(node, { nowMs, podDisruptionBudgets, attachments: own, volumeClaim })
        : stayBlockers(node, waitsFor, staying);
    if (blockers.length > 0) yield { ...described(node, waitsFor, { context, prices, worthOf }), blockers };
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

/** Returns a function that computes the worth of the removal of a node. */
function worths(
  { nodes, nowMs, evictionUsd, failuresOf }: BlockerContext,
  pools: ReadonlyMap<string, PoolInput>,
): (node: StateNode) => MoveWorth | undefined {
  let forecasts: ReturnType<typeof forecastsOf> | undefined;
  return (node) => {
    const candidate = evictionUsd === undefined ? undefined : candidateFrom(node, pools);
    if (evictionUsd === undefined || candidate === undefined) return undefined;
    forecasts ??= forecastsOf(nodes, pools, { nowMs, evictionUsd, failuresOf });
    const move = withWorth({ candidates: [candidate], replacements: [] }, { nowMs, forecasts, showsPrices: true });
    return 'worth' in move && move.worth !== undefined ? roundWorth(move.worth) : undefined;
  };
}

interface Known {
  readonly worthOf: (node: StateNode) => MoveWorth | undefined;
  readonly context: BlockerContext;
  readonly prices: ReadonlyMap<string, NodePrice>;
}

function described(
  state: StateNode,
  waitsFor: WaitingFor,
  { context, prices, worthOf }: Known,
): Omit<NodeBlockers, 'blockers'> {
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
      worth: waitsFor === 'consolidation' ? worthOf(state) : undefined,
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
  readonly ignoresClaims: boolean;
  /** Nodes of running gangs, by provider id. */
  readonly gangs: ReadonlyMap<string, GangUnit>;
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
  const { nowMs, pools, podDisruptionBudgets, gangs } = context;
  // drift continues if the terminationGracePeriod will eventually remove protected pods
  const disruption = waitsFor === 'drift' ? 'eventual' : 'graceful';
  const found = candidateOf(node, {
    nowMs,
    class: disruption,
    inProgress: new Set(),
    pools,
    podDisruptionBudgets,
    gangs,
  });
  const others = [
    ...claimBlocker(node, context),
    ...rolloutBlocker(node, waitsFor, context),
    ...budgetBlocker(node, waitsFor, context),
  ];
  if (!isBlock(found)) return others;
  if (BESIDE_THE_POINT.has(found.code)) return [];
  const { code, text, object } = found;
  const own: readonly Blocker[] = BY_PODS.has(code)
    ? []
    : [{ code, text, ...(object === undefined ? {} : { object }) }];
  const byPods = isCleared(node, waitsFor) ? [] : podBlockers(node, context);
  return [...own, ...byPods, ...others];
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

/** Returns the blocker for pods with claims that no simulation can place. The nodes of static NodePools need no simulation. */
function claimBlocker({ labels, pods }: StateNode, { ignoresClaims, pools }: StayContext): readonly Blocker[] {
  const isStatic = pools.get(labels[NODEPOOL_LABEL] ?? '')?.nodePool.spec.replicas !== undefined;
  const claiming = ignoresClaims && !isStatic ? pods.filter((pod) => isReschedulable(pod) && usesDevices(pod)) : [];
  if (claiming.length === 0) return [];
  const text = 'pods with resource claims cannot move, because claims are ignored; set IGNORE_DRA_REQUESTS=false';
  return [{ code: 'claims-ignored', text, pods: podKeys(claiming) }];
}

/** Returns the blocker for a node that waits for a stage of the rollout of its NodePool. */
function rolloutBlocker(node: StateNode, waitsFor: WaitingFor, { pools }: StayContext): readonly Blocker[] {
  const nodePool = pools.get(node.labels[NODEPOOL_LABEL] ?? '')?.nodePool;
  const reason = reasonOf(node, waitsFor);
  if (nodePool === undefined || node.nodeClaim === undefined || reason === undefined) return [];
  const rollout = holdingRollout(nodePool, node.nodeClaim, reason);
  if (rollout === undefined) return [];
  const { name } = nodePool.metadata;
  const { stage, until } = rollout;
  const object = { kind: 'NodePool', name };
  if (stage === 'Halted')
    return [{ code: 'rollout', text: `${rolloutText(rollout)}; ${rolloutRemedy(name)}`, object, ends: 'never' }];
  const ends = until === undefined ? {} : ({ until, ends: 'time' } as const);
  return [{ code: 'rollout', text: rolloutText(rollout), object, ...ends }];
}

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

interface DrainContext {
  readonly nowMs: number;
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
  /** Attachments of the node. */
  readonly attachments: readonly VolumeAttachment[];
  readonly volumeClaim: (ref: {
    readonly namespace: string;
    readonly name: string;
  }) => PersistentVolumeClaim | undefined;
}

function drainBlockers(node: StateNode, context: DrainContext): readonly Blocker[] {
  const finalizers = finalizerBlockers(node);
  if (Number.isNaN(readDeadline(node.nodeClaim))) return [unreadableDeadline(node), ...finalizers];
  const waiting = node.pods.filter((pod) => isWaitingForEviction(pod, context.nowMs));
  if (waiting.length > 0) return [...drainedPodBlockers(waiting, context), ...finalizers];
  const volumes = volumeBlockers(node, context);
  return volumes.length > 0 ? [...volumes, ...finalizers] : [...instanceBlockers(node), ...finalizers];
}

function unreadableDeadline({ name, nodeClaim }: StateNode): Blocker {
  const { annotations, name: claim = name } = nodeClaim?.metadata ?? {};
  return {
    code: 'deadline-unreadable',
    text: `annotation ${TERMINATION_TIMESTAMP_ANNOTATION} is "${annotations?.[TERMINATION_TIMESTAMP_ANNOTATION]}" and must be a time, for example 2026-01-31T10:11:12Z`,
    object: { kind: 'NodeClaim', name: claim },
  };
}

function drainedPodBlockers(
  waiting: readonly Pod[],
  { podDisruptionBudgets, nowMs }: DrainContext,
): readonly Blocker[] {
  const terminating = waiting.filter(isTerminating);
  const active = waiting.filter((pod) => !isTerminating(pod));
  const untouchable = active.filter((pod) => doNotDisrupt(pod, nowMs));
  const budgeted = budgetedPods(active, podDisruptionBudgets, nowMs);
  const held = new Set([...podKeys(untouchable), ...budgeted.flatMap(({ pods = [] }) => pods)]);
  const others = active.filter((pod) => !held.has(podKey(pod)));
  return [
    ...protectedPods(untouchable, nowMs),
    ...budgeted,
    ...terminating.map(terminatingPod),
    ...(others.length === 0 ? [] : [evictions(others)]),
  ];
}

/**
 * Returns the blocker for a terminating pod. The deletion timestamp is the end of the grace period. Shortly after this time, the
 * drain no longer waits for the pod.
 */
function terminatingPod(pod: Pod): Blocker {
  const {
    namespace = 'default',
    name,
    deletionTimestamp = '',
    deletionGracePeriodSeconds = 0,
    finalizers = [],
  } = pod.metadata;
  const endMs = timeOf(deletionTimestamp);
  const kept = finalizers.length === 0 ? '' : `, held by ${finalizers.join(', ')}`;
  return {
    code: 'pod-terminating',
    text: `pod is terminating${kept}`,
    object: { kind: 'Pod', namespace, name },
    pods: [podKey(pod)],
    ...(Number.isNaN(endMs)
      ? {}
      : { since: timestamp(endMs - deletionGracePeriodSeconds * 1_000), until: timestamp(endMs + STUCK_MS) }),
  };
}

const evictions = (pods: readonly Pod[]): Blocker => ({
  code: 'pod-eviction',
  text: `${pods.length} pod${pods.length === 1 ? ' is' : 's are'} being evicted, or wait for pods that are evicted first`,
  pods: podKeys(pods),
});

function volumeBlockers(node: StateNode, { attachments, volumeClaim, nowMs }: DrainContext): readonly Blocker[] {
  return pendingAttachments({ attachments, pods: node.pods, claim: volumeClaim, nowMs }).map(
    ({ metadata, spec }): Blocker => ({
      code: 'volume-attached',
      text: `volume ${spec.source?.persistentVolumeName} is attached${spec.attacher === undefined ? '' : ` by ${spec.attacher}`}`,
      object: { kind: 'VolumeAttachment', name: metadata.name },
      ...(metadata.deletionTimestamp === undefined ? {} : { since: metadata.deletionTimestamp }),
    }),
  );
}

function instanceBlockers({ name, nodeClaim, node }: StateNode): readonly Blocker[] {
  const ours = [node, nodeClaim].some((each) => each?.metadata.finalizers?.includes(TERMINATION_FINALIZER));
  if (!ours) return [];
  const since =
    nodeClaim && isTrue(nodeClaim, 'InstanceTerminating')
      ? getCondition(nodeClaim, 'InstanceTerminating')?.lastTransitionTime
      : undefined;
  return [
    {
      code: 'instance',
      text: 'no pods and volumes are left, and the instance is being terminated',
      object: { kind: 'NodeClaim', name: nodeClaim?.metadata.name ?? name },
      ...(since === undefined ? {} : { since }),
    },
  ];
}

/** Returns blockers for finalizers of other controllers. The object stays until those controllers remove them. */
function finalizerBlockers({ node, nodeClaim }: StateNode): readonly Blocker[] {
  return [node, nodeClaim].flatMap((object): readonly Blocker[] => {
    if (object?.metadata.deletionTimestamp === undefined) return [];
    const foreign = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== TERMINATION_FINALIZER);
    if (foreign.length === 0) return [];
    const kind = object === node ? 'Node' : 'NodeClaim';
    return [
      {
        code: kind === 'Node' ? 'node-finalizer' : 'nodeclaim-finalizer',
        text: `${kind} is kept by finalizers of other controllers: ${foreign.join(', ')}`,
        object: { kind, name: object.metadata.name },
        since: object.metadata.deletionTimestamp,
      },
    ];
  });
}
