/** Which nodes may be disrupted, and what is known about them. */

import type { Node, Pod, PodDisruptionBudget } from '../../../api/kubernetes.ts';
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
import type { InstanceType, PoolInput, StateNode } from '../../model.ts';
import { extrasUsdPerHour } from '../../node-extras.ts';
import { isReschedulable } from '../../pods.ts';
import type { CommittedUse } from '../../price-book/committed-use.ts';
import { PricedTypes } from '../price-table.ts';
import type { BlockCode, DisruptionClass, ObjectName, Reason } from '../reasons.ts';
import { BASE_COST, nodePrice, nodeSpotRisk, rescheduleCost } from './disruption-cost.ts';
import { podBlock } from './pod-blocks.ts';

/** A node that may be disrupted. */
export interface Candidate {
  readonly name: string;
  readonly providerId: string;
  readonly stateNode: StateNode;
  readonly node: Node;
  readonly nodeClaim: NodeClaim;
  readonly nodePool: NodePool;
  /** Missing when the NodePool no longer offers the node's type. */
  readonly instanceType: InstanceType | undefined;
  /** Labels of the node; missing ones are undefined. */
  readonly capacityType: string | undefined;
  readonly zone: string | undefined;
  /** Pods that need another place. */
  readonly reschedulablePods: readonly Pod[];
  readonly rescheduleCost: number;
  /** What the node costs, everything included; 0 when the price of its instance is not known. */
  readonly usdPerHour: number;
  /** What interruptions of it are expected to cost beyond the usual, USD per hour; counted against riskier replacements alone. */
  readonly spotRiskUsdPerHour: number;
  /** USD per hour saved per unit of disruption: what candidates are ordered by, best first. */
  readonly savingsRatio: number;
}

/** Why a node is left alone. */
export type Block = Reason<BlockCode>;

export interface CandidateContext {
  readonly nowMs: number;
  readonly class: DisruptionClass;
  /** Provider ids that a command is working on. */
  readonly inProgress: ReadonlySet<string>;
  /** Managed pools with a non-empty list of instance types, by name. */
  readonly pools: ReadonlyMap<string, PoolInput>;
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
}

const block = (code: BlockCode, text: string, object?: ObjectName): Block => ({
  code,
  text,
  ...(object === undefined ? {} : { object }),
});

/** Whether nothing would have to move. */
export const isEmpty = (candidate: Candidate): boolean => candidate.rescheduleCost <= BASE_COST;

export function isBlock(result: Candidate | Block): result is Block {
  return 'code' in result;
}

/** The node as a candidate, or the first reason why it is none. One that cannot be judged keeps no others from it. */
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

/** What is known of a node that may be disrupted; undefined when it cannot be, whatever its pods say. */
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

/** Always the same object while nothing of it changes. */
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

/** Of a node's pods those that need another place, and what moving them costs. */
const movedPods = remembering((pods: readonly Pod[]) => {
  const reschedulablePods = pods.filter(isReschedulable);
  return { reschedulablePods, cost: rescheduleCost(reschedulablePods) };
});

/**
 * Best savings for the least disturbance first; of equals, the first in the alphabet. Where commitments cover a node, giving
 * it up alone saves the less.
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
