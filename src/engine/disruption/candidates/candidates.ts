/** Finds the nodes that may be disrupted, and the data that decisions about them need. */

import type { Node, PodDisruptionBudget } from '../../../api/kubernetes.ts';
import {
  CAPACITY_TYPE_LABEL,
  DO_NOT_DISRUPT_ANNOTATION,
  INITIALIZED_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  ZONE_LABEL,
} from '../../../api/labels.ts';
import type { NodeClaim } from '../../../api/nodeclaim.ts';
import type { NodePool } from '../../../api/nodepool.ts';
import { messageOf } from '../../../lib/error-message.ts';
import { remembering } from '../../../lib/remembering.ts';
import type { EnginePod } from '../../input.ts';
import type { InstanceType, PoolInput, StateNode } from '../../model.ts';
import { extrasUsdPerHour } from '../../node-extras.ts';
import { isReschedulable } from '../../pods.ts';
import type { CommittedUse } from '../../price-book/committed-use.ts';
import { PricedTypes } from '../price-table.ts';
import type { BlockCode, ObjectName, Reason } from '../reasons.ts';
import { BASE_COST, nodePrice, nodeSpotRisk, rescheduleCost } from './disruption-cost.ts';
import { podBlock } from './pod-blocks.ts';

/** Node that may be disrupted. */
export interface Candidate {
  readonly name: string;
  readonly providerId: string;
  readonly stateNode: StateNode;
  readonly node: Node;
  readonly nodeClaim: NodeClaim;
  readonly nodePool: NodePool;
  /** Undefined if the NodePool no longer offers the type of the node. */
  readonly instanceType: InstanceType | undefined;
  /** Labels of the node. Undefined if the label is absent. */
  readonly capacityType: string | undefined;
  readonly zone: string | undefined;
  /** Pods that need another node. */
  readonly reschedulablePods: readonly EnginePod[];
  readonly rescheduleCost: number;
  /** Full cost of the node. 0 if the price of its instance is unknown. */
  readonly usdPerHour: number;
  /**
   * Expected extra cost of interruptions of the node, in USD per hour. Used only in comparison with replacements that have a
   * higher risk.
   */
  readonly spotRiskUsdPerHour: number;
  /** Savings in USD per hour per unit of disruption. Candidates are sorted by this ratio, highest first. */
  readonly savingsRatio: number;
}

/** Reason why a node is not disrupted. */
type Block = Reason<BlockCode>;

interface CandidateContext {
  readonly nowMs: number;
  readonly class: 'graceful' | 'eventual';
  /** Provider ids of the nodes that belong to a command in progress. */
  readonly inProgress: ReadonlySet<string>;
  /** Managed NodePools with a non-empty list of instance types, by name. */
  readonly pools: ReadonlyMap<string, PoolInput>;
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
}

const block = (code: BlockCode, text: string, object?: ObjectName): Block => ({
  code,
  text,
  ...(object === undefined ? {} : { object }),
});

/** Returns true if no pod would have to move. */
export const isEmpty = (candidate: Candidate): boolean => candidate.rescheduleCost <= BASE_COST;

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
    return block('unreadable', `node cannot be judged, ${messageOf(error)}`);
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
  const isCleared = context.class === 'eventual' && nodeClaim.spec.terminationGracePeriod !== undefined;
  const byPods = isCleared ? undefined : podBlock(stateNode.pods, context.podDisruptionBudgets, context.nowMs);
  return byPods ?? describe(stateNode, { node, nodeClaim, pool });
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
export function described(stateNode: StateNode, pools: ReadonlyMap<string, PoolInput>): Candidate | undefined {
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
  return candidateOn(stateNode, node, nodeClaim, nodePool, instanceType, extrasUsdPerHour(extras));
}

const candidateOn = remembering(
  (
    stateNode: StateNode,
    node: Node,
    nodeClaim: NodeClaim,
    nodePool: NodePool,
    instanceType: InstanceType | undefined,
    extrasUsd: number,
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

/**
 * Sorts by savings per unit of disruption, highest first; ties by name. If commitments cover a node, removing only this node
 * saves less.
 */
export function bySavings(candidates: readonly Candidate[], committed?: CommittedUse): readonly Candidate[] {
  const ratios = new Map(
    candidates.map((candidate) => {
      const { usdPerHour, rescheduleCost: cost, savingsRatio } = candidate;
      return [candidate, committed ? (usdPerHour - committed.lost([candidate.providerId])) / cost : savingsRatio];
    }),
  );
  const ratioOf = (candidate: Candidate): number => ratios.get(candidate) ?? 0;
  return [...candidates].sort((a, b) => ratioOf(b) - ratioOf(a) || (a.name < b.name ? -1 : 1));
}
