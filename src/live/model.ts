/** Data of the live page, as its server sends it: plain data, without fields that could hold a secret. */

/** Requested and allocatable amount, in the resource's unit of {@link Resources}. */
export type RequestedShare = readonly [requested: number, allocatable: number];

/** State of the pods of a block. */
export type PodState = 'running' | 'starting' | 'leaving' | 'daemon';

/**
 * Equal pods of a node, as blocks of the map. The share is in thousandths of the node's tightest resource, so that the rest of
 * the box is the room for further pods.
 */
export type PodBlock = readonly [share: number, state: PodState, pods: number];

export interface LiveNode {
  readonly name: string;
  readonly nodeClaim?: string;
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** Price as AWS bills it, in USD per hour; absent if the price is unknown. */
  readonly usdPerHour?: number;
  /** Part of the price that no pod requests. Absent if the price is unknown. */
  readonly idleUsdPerHour?: number;
  /** Planning figure that the price excludes: expected surplus CPU. Absent if it is 0. */
  readonly surplusCreditsUsdPerHour?: number;
  /** Milliseconds since the epoch. */
  readonly createdMs: number;
  readonly state: 'launching' | 'starting' | 'ready' | 'leaving';
  /** True if the node has the soft taint of steering. Absent otherwise. */
  readonly isEmptying?: true;
  readonly pods: number;
  readonly shares: Readonly<Record<string, RequestedShare>>;
  /** Largest pods first. */
  readonly blocks: readonly PodBlock[];
  /**
   * Verdict about disruption of this node. If the node would not be disrupted, the code and the text give the reason.
   */
  readonly verdict?: { readonly code: string; readonly text: string; readonly object?: string };
}

export interface PendingPod {
  /** `namespace/name`. */
  readonly pod: string;
  readonly sinceMs: number;
  /** Verdict of the operator on this pod, or its last message about it. */
  readonly reason?: string;
  /** Equal for pods that wait for the same change. Absent without a reason. */
  readonly cause?: string;
}

/** Pods that wait for the same change, as the pod that waits for the longest time. */
export interface PendingGroup extends PendingPod {
  /** Number of pods. */
  readonly pods: number;
  /** Further pods, longest wait first. */
  readonly others: readonly Pick<PendingPod, 'pod' | 'sinceMs'>[];
}

/** A decision of the operator, or an event of an object that it manages. */
export interface LiveDecision {
  /** Increases with time. */
  readonly id: number;
  readonly atMs: number;
  readonly topic: 'bought' | 'given-back' | 'disruption' | 'interruption' | 'problem' | 'other';
  /** Object of this decision, such as `NodeClaim/default-x2b9f`. */
  readonly object: string;
  readonly text: string;
  /** Change of the cost in USD per hour; negative for savings. */
  readonly usdPerHour?: number;
  /** Id of the first occurrence. Absent if the decision did not repeat. */
  readonly firstId?: number;
  /** Number of occurrences. */
  readonly times: number;
}

/** USD per hour of all nodes at a time. */
export type CostSample = readonly [atMs: number, usdPerHour: number];

export interface LiveSummary {
  readonly clusterName: string;
  readonly atMs: number;
  /** Sentence with the scope, the end and the reason of a pause. Absent without a pause. */
  readonly paused?: string;
  /** Sentence on decisions that are reported and not carried out. Absent if all are carried out. */
  readonly observed?: string;
  /** Sentence on the stages of the rollouts of NodePools, with the end or the cause of a halt. Absent without rollouts. */
  readonly rollout?: string;
  /** False on a standby replica, which observes the cluster but makes no decisions. */
  readonly isLeading: boolean;
  readonly nodes: number;
  readonly pods: number;
  readonly pendingPods: number;
  readonly usdPerHour: number;
  /** Planning figure that the cost excludes: expected surplus CPU. */
  readonly surplusCreditsUsdPerHour: number;
  readonly usdPerMonth: number;
  /** Part of the cost that no pod requests, in USD per month. */
  readonly idleUsdPerMonth: number;
  /** Part of the allocatable amounts that pods request, from 0 to 1. */
  readonly requested: Readonly<Record<'cpu' | 'memory', number>>;
  /** Part of the allocatable amounts that pods use, from 0 to 1. Absent without the metrics API. */
  readonly used?: Readonly<Record<'cpu' | 'memory', number>>;
  /** Part of the CPUs of the operator's nodes that spot nodes have, from 0 to 1. */
  readonly spotShare: number;
  /** Number of nodes without a known price. */
  readonly unpriced: number;
}

export interface LiveState {
  readonly summary: LiveSummary;
  readonly nodes: readonly LiveNode[];
  /** Pods by cause, longest wait first. The summary counts all pending pods. */
  readonly pending: readonly PendingGroup[];
  /** Oldest decision first. */
  readonly decisions: readonly LiveDecision[];
  readonly costs: readonly CostSample[];
}

/** Changes since the previous message. */
export interface LiveChange {
  readonly summary: LiveSummary;
  readonly nodes: readonly LiveNode[];
  /** Names of removed nodes. */
  readonly gone: readonly string[];
  readonly pending?: readonly PendingGroup[];
  /** New and repeated decisions. */
  readonly decisions: readonly LiveDecision[];
  readonly costs: readonly CostSample[];
}
