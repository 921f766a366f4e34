/** What a replay answers: what the same trace led to under one or several sets of settings. Plain data, as JSON has it. */

export interface ReplayResult {
  readonly trace: { readonly name: string; readonly start: string; readonly seconds: number; readonly source?: string };
  /** Of the world that was played: boot times, prices, interruptions … */
  readonly world: WorldSummary;
  readonly runs: readonly ReplayRun[];
}

export interface WorldSummary {
  readonly region: string;
  readonly seed: number;
  /** A line for each part that departs from the default, such as `interruptions: 5 % of spot nodes a day`. */
  readonly says: readonly string[];
}

/** One life of the cluster, under one set of settings. */
export interface ReplayRun {
  readonly name: string;
  /** What sets it apart, for who reads it: arguments of the operator, objects that were changed. */
  readonly settings: readonly string[];
  /** Seconds of the trace that were played; less than it has when the replay was interrupted. */
  readonly playedSeconds: number;
  readonly isComplete: boolean;
  readonly cost: CostSummary;
  readonly waiting: WaitingSummary;
  /** Pods that lost their node before they were done: by the operator's own evictions, and by interruptions. */
  readonly evictions: number;
  readonly nodes: NodeSummary;
  readonly interruptions: InterruptionSummary;
  /** Share of what the nodes offered over time that no pod had requested, 0 to 1. */
  readonly idle: { readonly cpu: number; readonly memory: number };
  readonly series: ReplaySeries;
  /** Every node that was bought or given back, in order. */
  readonly log: readonly NodeEvent[];
  /** Errors and warnings that the operator logged, by message, the most frequent first; at most 50. */
  readonly complaints: readonly { readonly message: string; readonly count: number; readonly example: string }[];
  /** Real seconds that the run took, and the highest resident memory of the process in bytes. */
  readonly took: { readonly seconds: number; readonly rssBytes: number };
}

/** In USD over the time that was played. */
interface CostSummary {
  /** Instances at the prices of list and spot market. */
  readonly instancesUsd: number;
  /** Volumes and public addresses. */
  readonly extrasUsd: number;
  /** Surplus CPU credits of burstable instances. */
  readonly surplusCreditsUsd: number;
  /** Full cost: instances and extras after the price book's discounts and commitments, and surplus CPU credits. */
  readonly effectiveUsd: number;
  readonly byCapacityType: Readonly<Record<string, number>>;
  readonly byNodePool: Readonly<Record<string, number>>;
}

/** Seconds from a pod's creation until it was bound to a node, of all pods that were bound. */
export interface WaitingSummary {
  readonly pods: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly longest: number;
  /** Pods that waited still when the replay ended. */
  readonly stillWaiting: number;
  /** The distribution, by growing seconds, at most a few dozen: how many of all pods waited at most so long. */
  readonly upTo?: readonly { readonly seconds: number; readonly pods: number }[];
}

export interface NodeSummary {
  readonly bought: number;
  readonly givenBack: number;
  /** Nodes that ran at the same time, at most and on average. */
  readonly most: number;
  readonly average: number;
  /** Nodes given back, by reason: Empty, Underutilized, Drifted, Expired, Interrupted … */
  readonly byReason: Readonly<Record<string, number>>;
  /** Hours of nodes by instance type, the most first. */
  readonly hoursByType: Readonly<Record<string, number>>;
}

export interface InterruptionSummary {
  /** Spot instances that were taken back. */
  readonly count: number;
  /** Of these, nodes whose pods were all on their way before the instance was gone. */
  readonly survived: number;
  /** Launches that failed for want of capacity. */
  readonly capacityErrors: number;
}

/** Columns of equal length, one row every `stepSeconds`, the first at the start of the trace. */
export interface ReplaySeries {
  readonly stepSeconds: number;
  /** What the nodes cost by the hour at that moment, as `CostSummary.effectiveUsd` has it. */
  readonly usdPerHour: readonly number[];
  readonly nodes: readonly number[];
  readonly spotNodes: readonly number[];
  readonly runningPods: readonly number[];
  readonly waitingPods: readonly number[];
  /** Cores and GiB. */
  readonly cpuRequested: readonly number[];
  readonly cpuAllocatable: readonly number[];
  readonly memoryRequested: readonly number[];
  readonly memoryAllocatable: readonly number[];
}

export interface NodeEvent {
  /** Seconds since the start of the trace. */
  readonly at: number;
  readonly what: 'bought' | 'given back' | 'interrupted' | 'launch failed';
  readonly nodePool: string;
  /** Of the NodeClaim. */
  readonly name: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly usdPerHour: number;
  /** Of a node that was given back. */
  readonly reason?: string;
}
