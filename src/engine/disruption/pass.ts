/**
 * Runs one disruption method on one state of the cluster in two steps. `prepare` finds the candidates of the method, and records
 * for every other node why it stays. `decide` runs the method. The operator, its engine worker and `karpenter simulate
 * --disruption` all use these functions.
 */

import {
  CAPACITY_TYPE_LABEL,
  DO_NOT_DISRUPT_ANNOTATION,
  getCondition,
  INITIALIZED_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  type NodePool,
  type PodDisruptionBudget,
  ZONE_LABEL,
} from '#api/objects';
import { consolidationPolicy, readDurationOrNever } from '#api/values';
import { messageOf, remembering, timeOf } from '#lib';
import { type GangUnit, gangUnits } from '../gangs/gang-units.ts';
import type { EnginePod } from '../input.ts';
import type { EngineSnapshot, InstanceType, PoolInput, Snapshot, StateNode } from '../model.ts';
import { chargesUsdPerHour, extrasUsdPerHour } from '../node-extras.ts';
import { isReschedulable } from '../pods.ts';
import { CommittedUse } from '../price-book/committed-use.ts';
import { allowances } from './budgets/budgets.ts';
import { claimCounts } from './candidates/claim-counts.ts';
import { billedNodePrice, nodePrice, nodeSpotRisk, rescheduleCost } from './candidates/disruption-cost.ts';
import { podBlock } from './candidates/pod-blocks.ts';
import type { Candidate } from './command.ts';
import { type Gangs, unitOf, wholeText, withGang } from './gang-nodes.ts';
import type { Declined, Method, MethodInput, MethodResult } from './method.ts';
import { PricedTypes } from './price-table.ts';
import { type PoolTotals, poolTotals } from './pricing/balance.ts';
import { type ForecastOptions, forecastsOf } from './pricing/forecast.ts';
import { withWorth } from './pricing/move-price.ts';
import type { BlockCode, ObjectName, Reason } from './reasons.ts';
import { holdingRollout, rolloutRemedy, rolloutText } from './rollout/rollout.ts';
import type { Simulator } from './simulations/simulator.ts';
import type { MethodReview } from './verdicts.ts';

/** Input of a pass. */
export interface PassInput
  extends Pick<
    MethodInput,
    | 'nowMs'
    | 'pools'
    | 'claims'
    | 'spotToSpot'
    | 'consolidation'
    | 'unseenPools'
    | 'committed'
    | 'showsPrices'
    | 'simulate'
    | 'elapsedMs'
  > {
  /** Price of an eviction besides lost work. Undefined if moves have no price. */
  readonly evictionUsd?: number | undefined;
  readonly failuresOf?: ForecastOptions['failuresOf'];
  readonly nodes: readonly StateNode[];
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
  /** Nodes that move only together, by provider id. */
  readonly gangs?: ReadonlyMap<string, GangUnit>;
  /** All managed NodePools, including NodePools that have no instance types now. */
  readonly nodePools: readonly NodePool[];
  /** Provider ids of the nodes that belong to a command in progress. */
  readonly inProgress: ReadonlySet<string>;
  /** Surveys by earlier methods for the same cluster. They are valid until `nextChangeMs`. `prepare` adds its own surveys. */
  readonly surveys: Map<Method['class'], Promise<Survey>>;
}

interface ClusterObjects extends Pick<Snapshot, 'nodes' | 'podDisruptionBudgets' | 'gangGroups'> {
  readonly commitments?: Snapshot['commitments'] | undefined;
}

/** Parts of the input that differ between passes over the same cluster. */
type PassParts = Pick<PassInput, 'nowMs' | 'spotToSpot' | 'evictionUsd' | 'failuresOf' | 'simulate' | 'elapsedMs'> &
  Partial<Pick<PassInput, 'unseenPools' | 'showsPrices'>>;

/** Returns the input of a pass over a cluster. By default, the last search reached all NodePools. */
export const passInput = (cluster: ReturnType<typeof passCluster>, parts: PassParts): PassInput => ({
  ...cluster,
  unseenPools: new Set(),
  ...parts,
});

/**
 * Returns the part of the input that depends on the cluster only. The nodes of NodePools without instance types are no
 * candidates, because their cost and their possible replacements are unknown.
 * @param pools all managed NodePools
 */
export function passCluster(
  { nodes, podDisruptionBudgets, commitments, gangGroups }: ClusterObjects,
  pools: readonly PoolInput[],
  { inProgress, consolidation }: Pick<PassInput, 'inProgress' | 'consolidation'>,
): Omit<PassInput, keyof PassParts> {
  const inUse = new Set(nodes.map(({ labels }) => labels[NODEPOOL_LABEL]));
  const priced = pools.filter(
    ({ nodePool, instanceTypes }) => inUse.has(nodePool.metadata.name) && instanceTypes.length > 0,
  );
  return {
    nodes,
    podDisruptionBudgets,
    nodePools: pools.map(({ nodePool }) => nodePool),
    pools: new Map(priced.map((pool) => [pool.nodePool.metadata.name, pool])),
    inProgress,
    gangs: gangUnits(nodes, gangGroups),
    claims: claimCounts(nodes, inProgress),
    consolidation,
    committed: committedUse({ commitments, nodes }, priced, consolidation),
    surveys: new Map(),
  };
}

/** Returns undefined if there are no commitments, and in Karpenter-compatible consolidation, which ignores commitments. */
export const committedUse = (
  { commitments, nodes }: Pick<ClusterObjects, 'commitments'> & Pick<EngineSnapshot, 'nodes'>,
  pools: readonly PoolInput[],
  consolidation: PassInput['consolidation'],
): CommittedUse | undefined =>
  consolidationPolicy(consolidation).countsCommitments ? CommittedUse.of(commitments, nodes, pools) : undefined;

/** Result of `prepare`, with the input for the decision of the method. */
interface Preparation extends Omit<MethodReview, 'result'> {
  readonly input: MethodInput;
}

const NOTHING: MethodResult = { commands: [], exhausted: true, events: [] };
/** Returns a promise that lets other work run, or undefined if no pause is necessary. */
type Pause = () => Promise<void> | undefined;
const withoutPause: Pause = () => undefined;

/** Prepares a method. @param pause called after each node */
export async function prepare(method: Method, pass: PassInput, pause: Pause = withoutPause): Promise<Preparation> {
  const { nodes, nowMs, pools, showsPrices, surveys } = pass;
  const survey = surveys.get(method.class) ?? surveyOf(method.class, pass, pause);
  surveys.set(method.class, survey);
  const { found, blocks, totals, forecasts, gangs } = await survey;
  const declined = new Map<string, Declined>();
  let candidates: Candidate[] = [];
  for (const candidate of found) {
    const refusal = refusalOf(candidate, method, { nowMs, forecasts, showsPrices, gangs });
    if (refusal === undefined) candidates.push(candidate);
    else declined.set(candidate.providerId, refusal);
    const turn = pause();
    if (turn !== undefined) await turn;
  }
  if (method.reason !== 'Drifted') candidates = declineParts(candidates, declined, gangs);
  const allowed = allowances(nodes, pass.nodePools, { reason: method.reason, nowMs });
  const input: MethodInput = {
    nowMs,
    candidates,
    budgets: new Map([...allowed].map(([name, { remaining }]) => [name, remaining])),
    totals,
    forecasts,
    showsPrices,
    pools,
    claims: pass.claims,
    spotToSpot: pass.spotToSpot,
    consolidation: pass.consolidation,
    unseenPools: pass.unseenPools,
    committed: pass.committed,
    gangs,
    simulate: pass.simulate,
    elapsedMs: pass.elapsedMs,
    // the cluster of the pass does not change; a caller with newer state replaces this function
    refresh: async () => input,
  };
  return { method, blocks, declined, candidates, allowances: allowed, input };
}

/** Returns the result of the method. If there are no candidates, does not run the method. */
export async function decide({ method, candidates, input }: Preparation): Promise<MethodResult> {
  return candidates.length === 0 ? NOTHING : method.decide(input);
}

/** Returns a function for `MethodInput.simulate` that runs simulations in this thread. */
export const simulateOn =
  (simulator: Simulator): MethodInput['simulate'] =>
  async (candidates, options) =>
    simulator.without(
      candidates.map(({ providerId }) => providerId),
      options,
    );

/** Candidates of a disruption class, and the reasons why the remaining nodes are not candidates. */
interface Survey {
  readonly found: readonly Candidate[];
  readonly blocks: ReadonlyMap<string, Block>;
  /** Totals of the NodePools that have candidates, by name. */
  readonly totals: ReadonlyMap<string, PoolTotals>;
  readonly forecasts: MethodInput['forecasts'];
  readonly gangs: Gangs;
}

async function surveyOf(disruptionClass: Method['class'], pass: PassInput, pause: Pause): Promise<Survey> {
  const { nodes, pools, nowMs, evictionUsd, failuresOf } = pass;
  const context = { ...pass, class: disruptionClass };
  const found: Candidate[] = [];
  const blocks = new Map<string, Block>();
  for (const node of nodes) {
    const result = candidateOf(node, context);
    if (isBlock(result)) blocks.set(node.providerId, result);
    else found.push(result);
    // an await without need takes longer than most verdicts
    const turn = pause();
    if (turn !== undefined) await turn;
  }
  const gangs = gangsAmong(pass, blocks);
  return {
    found: found.filter(({ providerId }) => !blocks.has(providerId)),
    gangs,
    blocks,
    totals: poolTotals(nodes, found, pools),
    forecasts: evictionUsd === undefined ? undefined : forecastsOf(nodes, pools, { nowMs, evictionUsd, failuresOf }),
  };
}

/** Returns the nodes of gangs on several nodes. If one of the nodes must stay, the rest are blocked. */
function gangsAmong({ gangs: units = new Map(), nodes, pools }: PassInput, blocks: Map<string, Block>): Gangs {
  const gangs = new Map<string, { readonly text: string; readonly candidates: readonly Candidate[] }>();
  if (units.size === 0) return gangs;
  const byId = new Map(nodes.map((node) => [node.providerId, node]));
  for (const { text, providerIds } of new Set(units.values())) {
    if (providerIds.length === 1) continue;
    const stays = providerIds.find((id) => (blocks.get(id)?.code ?? 'gang') !== 'gang');
    const candidates = providerIds.flatMap((id) => described(byId.get(id), pools) ?? []);
    const why = stays === undefined ? '' : `node ${byId.get(stays)?.name} stays, ${blocks.get(stays)?.text}`;
    for (const id of providerIds) {
      gangs.set(id, { text, candidates });
      if (stays !== undefined && !blocks.has(id)) blocks.set(id, block('gang', wholeText(text, why)));
    }
  }
  return gangs;
}

/** Declines the candidates whose gang has a node that the method declines. Returns the remaining candidates. */
function declineParts(candidates: Candidate[], declined: Map<string, Declined>, gangs: Gangs): Candidate[] {
  if (gangs.size === 0) return candidates;
  const parts = new Map<string, Declined>();
  for (const candidate of candidates) {
    const other = unitOf(candidate, gangs).find(({ providerId }) => declined.has(providerId));
    if (other === undefined) continue;
    const why = `node ${other.name} stays, ${declined.get(other.providerId)?.reason.text}`;
    parts.set(candidate.providerId, { candidate, isReported: false, reason: withGang(candidate, gangs, why) });
  }
  for (const [id, part] of parts) declined.set(id, part);
  return candidates.filter(({ providerId }) => !parts.has(providerId));
}

/** Returns the refusal of the method. A candidate for which the filter throws must not prevent verdicts on other candidates. */
function refusalOf(
  candidate: Candidate,
  method: Method,
  context: Pick<MethodInput, 'nowMs' | 'forecasts' | 'showsPrices' | 'gangs'>,
): Declined | undefined {
  try {
    const refusal = method.filter(candidate) ?? heldByRollout(candidate, method);
    if (refusal !== undefined || method.reason !== 'Underutilized') return refusal && { candidate, ...refusal };
  } catch (error) {
    const text = `node cannot be evaluated, ${messageOf(error)}`;
    return { candidate, isReported: true, reason: { code: 'failed', text } };
  }
  // removal without a replacement saves most
  const move = withWorth({ candidates: unitOf(candidate, context.gangs), replacements: [] }, context);
  return 'code' in move ? { candidate, isReported: false, reason: move } : undefined;
}

/** Returns the refusal of a candidate that waits for the rollout of its NodePool. */
function heldByRollout(
  { nodePool, nodeClaim }: Candidate,
  { reason }: Method,
): Omit<Declined, 'candidate'> | undefined {
  const rollout = holdingRollout(nodePool, nodeClaim, reason);
  if (rollout === undefined) return undefined;
  const { name } = nodePool.metadata;
  const found = { code: 'rollout', text: rolloutText(rollout), object: { kind: 'NodePool', name } } as const;
  const nearestMiss = rollout.stage === 'Halted' ? rolloutRemedy(name) : rollout.until && `until ${rollout.until}`;
  return { isReported: false, reason: nearestMiss === undefined ? found : { ...found, nearestMiss } };
}

/** Reason why a node is not disrupted. */
type Block = Reason<BlockCode>;

type CandidateContext = Pick<PassInput, 'nowMs' | 'inProgress' | 'pools' | 'podDisruptionBudgets' | 'gangs'> &
  Pick<Method, 'class'>;

const block = (code: BlockCode, text: string, object?: ObjectName): Block => ({
  code,
  text,
  ...(object === undefined ? {} : { object }),
});

export function isBlock(result: Candidate | Block): result is Block {
  return 'code' in result;
}

/**
 * Returns the node as a candidate, or the first reason why the node is not a candidate. An error for one node must not affect
 * the verdicts on the remaining nodes.
 */
export function candidateOf(stateNode: StateNode, context: CandidateContext): Candidate | Block {
  try {
    return judged(stateNode, context);
  } catch (error) {
    return block('unreadable', `node cannot be evaluated, ${messageOf(error)}`);
  }
}

function judged(stateNode: StateNode, context: CandidateContext): Candidate | Block {
  const { node, nodeClaim, labels, providerId } = stateNode;
  if (context.inProgress.has(providerId)) return block('in-progress', 'candidate is already being disrupted');
  if (nodeClaim === undefined) return block('unmanaged', "node isn't managed by karpenter");
  if (node === undefined) return block('no-node', 'nodeclaim does not have an associated node');
  const stateBlock = blockOfState(stateNode, node, context.nowMs);
  if (stateBlock) return stateBlock;
  const poolName = labels[NODEPOOL_LABEL];
  if (!poolName) return block('no-pool-label', `node doesn't have required label (label=${NODEPOOL_LABEL})`);
  const pool = context.pools.get(poolName);
  if (pool === undefined) {
    return block('no-pool', `NodePool not found (NodePool=${poolName})`, { kind: 'NodePool', name: poolName });
  }
  return (
    blockOfPods(stateNode, context) ??
    blockOfGang(providerId, nodeClaim, context) ??
    describe(stateNode, { node, nodeClaim, pool })
  );
}

/**
 * Returns the block of a node with a gang that stays until it finishes. Drift waits no longer than the terminationGracePeriod
 * of the NodeClaim.
 */
function blockOfGang(
  providerId: string,
  claim: NodeClaim,
  { gangs, nowMs, class: ofMethods }: Pick<CandidateContext, 'gangs' | 'nowMs' | 'class'>,
): Block | undefined {
  const unit = gangs?.get(providerId);
  if (unit?.waitsForEnd !== true) return undefined;
  const found = block('gang', `${unit.text} is not moved before it finishes`);
  const drifted = getCondition(claim, 'Drifted');
  if (ofMethods === 'graceful' || drifted?.status !== 'True') return found;
  const untilMs =
    timeOf(drifted.lastTransitionTime) + (readDurationOrNever(claim.spec.terminationGracePeriod) ?? Infinity);
  if (untilMs <= nowMs) return undefined;
  return Number.isFinite(untilMs) ? { ...found, nearestMiss: `until ${new Date(untilMs).toISOString()}` } : found;
}

type PodContext = Pick<CandidateContext, 'nowMs' | 'podDisruptionBudgets' | 'class'>;

function blockOfPods({ pods, nodeClaim }: StateNode, { class: ofMethods, ...context }: PodContext): Block | undefined {
  const isCleared = ofMethods === 'eventual' && nodeClaim?.spec.terminationGracePeriod !== undefined;
  return isCleared ? undefined : podBlock(pods, context.podDisruptionBudgets, context.nowMs);
}

/** Returns the block by the state of the node and by its pods that applies now. Does not depend on a pass. */
export function currentBlock(stateNode: StateNode, context: PodContext): Block | undefined {
  const { node } = stateNode;
  if (node === undefined) return block('no-node', 'nodeclaim does not have an associated node');
  return blockOfState(stateNode, node, context.nowMs) ?? blockOfPods(stateNode, context);
}

function blockOfState(stateNode: StateNode, node: Node, nowMs: number): Block | undefined {
  if (node.metadata.labels?.[INITIALIZED_LABEL] !== 'true') return block('not-initialized', "node isn't initialized");
  if (stateNode.markedForDeletion) return block('deleting', 'node is deleting or marked for deletion');
  if (stateNode.nominatedUntilMs > nowMs) {
    const until = `until ${new Date(stateNode.nominatedUntilMs).toISOString()}`;
    return { ...block('nominated', 'node is nominated for a pending pod'), nearestMiss: until };
  }
  if (stateNode.annotations[DO_NOT_DISRUPT_ANNOTATION] !== 'true') return undefined;
  return block('do-not-disrupt', `disruption is blocked through the "${DO_NOT_DISRUPT_ANNOTATION}" annotation`, {
    kind: 'Node',
    name: node.metadata.name,
  });
}

/** Returns the data of a node that may be disrupted. Returns undefined if the node cannot be disrupted regardless of its pods. */
export function described(
  stateNode: StateNode | undefined,
  pools: ReadonlyMap<string, PoolInput>,
): Candidate | undefined {
  if (stateNode === undefined) return undefined;
  const { node, nodeClaim, labels } = stateNode;
  const pool = pools.get(labels[NODEPOOL_LABEL] ?? '');
  if (node === undefined || nodeClaim === undefined || pool === undefined) return undefined;
  return describe(stateNode, { node, nodeClaim, pool });
}

interface Parts {
  readonly node: Node;
  readonly nodeClaim: NodeClaim;
  readonly pool: PoolInput;
}

/** Returns the identical object while its inputs are unchanged. */
function describe(stateNode: StateNode, { node, nodeClaim, pool }: Parts): Candidate {
  const { nodePool, instanceTypes, extras } = pool;
  const instanceType = PricedTypes.of(instanceTypes).type(stateNode.labels[INSTANCE_TYPE_LABEL] ?? '');
  return candidateOn(stateNode, node, nodeClaim, nodePool, instanceType, ...costsBesides(extras));
}

/** Returns the costs of a node besides its instance: for decisions, and on the bill. */
const costsBesides = (extras: PoolInput['extras']): readonly [extrasUsd: number, chargesUsd: number] => [
  extrasUsdPerHour(extras),
  chargesUsdPerHour(extras),
];

const candidateOn = remembering(
  (
    stateNode: StateNode,
    node: Node,
    nodeClaim: NodeClaim,
    nodePool: NodePool,
    instanceType: InstanceType | undefined,
    extrasUsd: number,
    chargesUsd: number,
  ): Candidate => {
    const { labels, name, providerId } = stateNode;
    const { reschedulablePods, cost } = movedPods(stateNode.pods);
    const usdPerHour = nodePrice(stateNode, instanceType, extrasUsd);
    return {
      name,
      providerId,
      stateNode,
      node,
      nodeClaim,
      nodePool,
      instanceType,
      capacityType: labels[CAPACITY_TYPE_LABEL],
      zone: labels[ZONE_LABEL],
      reschedulablePods,
      rescheduleCost: cost,
      usdPerHour,
      billedUsdPerHour: billedNodePrice(stateNode, instanceType, chargesUsd),
      spotRiskUsdPerHour: nodeSpotRisk(stateNode, instanceType),
      savingsRatio: usdPerHour / cost,
    };
  },
);

/** Returns the pods of a node that need another node, and the cost of moving them. */
const movedPods = remembering((pods: readonly EnginePod[]) => {
  const reschedulablePods = pods.filter(isReschedulable);
  return { reschedulablePods, cost: rescheduleCost(reschedulablePods) };
});
