/** What the live page shows, as its server sends it: plain data, with no field that could hold a secret. */

/** Requested of what can be had, in the resource's unit of {@link Resources}. */
export type RequestedShare = readonly [requested: number, allocatable: number];

export interface LiveNode {
  readonly name: string;
  readonly nodeClaim?: string;
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** USD per hour; absent while nobody knows it. */
  readonly usdPerHour?: number;
  /** Milliseconds since the epoch. */
  readonly createdMs: number;
  readonly state: 'launching' | 'starting' | 'ready' | 'leaving';
  readonly pods: number;
  readonly shares: Readonly<Record<string, RequestedShare>>;
  /** Whether it would be disrupted, and if not, what stands in the way: the code and the text of the verdict. */
  readonly verdict?: { readonly code: string; readonly text: string; readonly object?: string };
}

export interface PendingPod {
  /** `namespace/name`. */
  readonly pod: string;
  readonly sinceMs: number;
  /** What the operator said of it last. */
  readonly reason?: string;
}

/** Something that the operator decided, or that happened to what it looks after. */
export interface LiveDecision {
  /** Grows with time. */
  readonly id: number;
  readonly atMs: number;
  readonly topic: 'bought' | 'given-back' | 'disruption' | 'interruption' | 'problem' | 'other';
  /** Such as `NodeClaim/default-x2b9f`. */
  readonly object: string;
  readonly text: string;
  /** USD per hour that are paid more from then on; negative for what is saved. */
  readonly usdPerHour?: number;
  /** How often it was said. */
  readonly times: number;
}

/** USD per hour of all nodes at a time. */
export type CostSample = readonly [atMs: number, usdPerHour: number];

export interface LiveSummary {
  readonly clusterName: string;
  readonly atMs: number;
  /** False on a replica that stands by: it sees the cluster and decides nothing. */
  readonly isLeading: boolean;
  readonly nodes: number;
  readonly pods: number;
  readonly pendingPods: number;
  readonly usdPerHour: number;
  /** Nodes whose price nobody knows. */
  readonly unpriced: number;
}

export interface LiveState {
  readonly summary: LiveSummary;
  readonly nodes: readonly LiveNode[];
  /** The longest waiting; the summary counts all. */
  readonly pending: readonly PendingPod[];
  /** Oldest first. */
  readonly decisions: readonly LiveDecision[];
  readonly costs: readonly CostSample[];
}

/** What has changed since the last one. */
export interface LiveChange {
  readonly summary: LiveSummary;
  readonly nodes: readonly LiveNode[];
  /** Names of nodes that are gone. */
  readonly gone: readonly string[];
  readonly pending?: readonly PendingPod[];
  /** New ones, and those that were said again. */
  readonly decisions: readonly LiveDecision[];
  readonly costs: readonly CostSample[];
}
