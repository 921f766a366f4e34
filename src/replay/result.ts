/**
 * Result of a replay: the outcome of one trace for one or several sets of settings. Plain data that JSON can represent.
 */

import type { LivesSummary } from './lives/lives-result.ts';

export interface ReplayResult {
  readonly trace: { readonly name: string; readonly start: string; readonly seconds: number; readonly source?: string };
  /** World of this replay: boot times, prices, interruptions and other parameters. */
  readonly world: WorldSummary;
  /** One run for each set. If several lives were played, it is the first life that the set finished. */
  readonly runs: readonly ReplayRun[];
  /** Comparison over all lives. Missing if a single life was played. */
  readonly lives?: LivesSummary;
}

export interface WorldSummary {
  readonly region: string;
  readonly seed: number;
  /**
   * One line for each parameter that differs from the default, for example `interruptions: 5 % of spot nodes per day`.
   */
  readonly says: readonly string[];
}

/** One run of the trace with one set of settings. */
export interface ReplayRun {
  readonly name: string;
  /** Differences from the other sets, for reports: arguments of the operator and changed objects. */
  readonly settings: readonly string[];
  /** Number of the life, from 1, if several lives were played. */
  readonly life?: number;
  /**
   * Seconds of the trace that were played. The number is smaller than the length of the trace if the replay was
   * interrupted.
   */
  readonly playedSeconds: number;
  readonly isComplete: boolean;
  readonly cost: CostSummary;
  readonly waiting: WaitingSummary;
  /** Pods that lost their node before they finished, through evictions of the operator or interruptions. */
  readonly evictions: number;
  readonly redone: RedoneWork;
  readonly failedJobs: FailedJobs;
  readonly nodes: NodeSummary;
  readonly interruptions: InterruptionSummary;
  /** Share of the nodes' allocatable resources over time that pods did not request, from 0 to 1. */
  readonly idle: { readonly cpu: number; readonly memory: number };
  readonly series: ReplaySeries;
  /** Every node that was launched or removed, in order of time. */
  readonly log: readonly NodeEvent[];
  /** Errors of the operator by message, in descending order of their count; at most 50. */
  readonly complaints: readonly { readonly message: string; readonly count: number; readonly example: string }[];
  /** Duration of this run in real seconds, and the highest resident memory of the process in bytes. */
  readonly took: { readonly seconds: number; readonly rssBytes: number };
}

/** Cost in USD over the time that was played. */
interface CostSummary {
  /** Instances at list and spot prices. */
  readonly instancesUsd: number;
  /** Volumes and public IP addresses. */
  readonly extrasUsd: number;
  /** Surplus CPU credits of burstable instances. */
  readonly surplusCreditsUsd: number;
  /** Full cost: instances and extras after the price book's discounts and commitments, and surplus CPU credits. */
  readonly effectiveUsd: number;
  readonly byCapacityType: Readonly<Record<string, number>>;
  readonly byNodePool: Readonly<Record<string, number>>;
}

/**
 * Work of pods that lost their node before they succeeded, and that therefore must start again: pods of Jobs, and other
 * pods that end by themselves.
 */
export interface RedoneWork {
  readonly pods: number;
  /** Time from the start of their containers. */
  readonly podHours: number;
  /** Their share of the price of their nodes for this time. */
  readonly usd: number;
}

/**
 * Jobs that failed, because more of their pods failed or were evicted than their `backoffLimit` allows. Their missing work lowers
 * the cost, so costs are comparable only if all sets do about the same work.
 */
export interface FailedJobs {
  readonly jobs: number;
  /** Pods that were to succeed and never did. */
  readonly pods: number;
}

/**
 * Seconds from the creation of a pod until it was bound to a node. Pods that were still waiting when the replay ended
 * count with the time until then.
 */
export interface WaitingSummary {
  /** Pods that were bound. */
  readonly pods: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly longest: number;
  /**
   * Sum over all pods in hours. It should be compared if evictions differ, because successors of evicted pods that are bound
   * immediately lower the percentiles.
   */
  readonly podHours: number;
  /** Pods that were still waiting when the replay ended, in addition to `pods`. */
  readonly stillWaiting: number;
  /**
   * Distribution in ascending order of seconds, with at most a few dozen entries: the number of pods that waited at
   * most this long.
   */
  readonly upTo?: readonly { readonly seconds: number; readonly pods: number }[];
}

export interface NodeSummary {
  readonly bought: number;
  readonly givenBack: number;
  /** Maximum and average number of nodes at the same time. */
  readonly most: number;
  readonly average: number;
  /** Removed nodes by reason: Empty, Underutilized, Drifted, Expired, Interrupted and others. */
  readonly byReason: Readonly<Record<string, number>>;
  /** Node hours by instance type, in descending order. */
  readonly hoursByType: Readonly<Record<string, number>>;
}

export interface InterruptionSummary {
  /** Interrupted spot instances. */
  readonly count: number;
  /** Interrupted nodes whose pods had all left the node before the instance was reclaimed. */
  readonly survived: number;
  /** Launches that failed because of insufficient capacity. */
  readonly capacityErrors: number;
}

/** Columns of equal length. They have one row every `stepSeconds`, beginning at the start of the trace. */
export interface ReplaySeries {
  readonly stepSeconds: number;
  /** Current cost of the nodes in USD per hour, computed like `CostSummary.effectiveUsd`. */
  readonly usdPerHour: readonly number[];
  readonly nodes: readonly number[];
  readonly spotNodes: readonly number[];
  readonly runningPods: readonly number[];
  readonly waitingPods: readonly number[];
  /** CPU columns are in cores, memory columns in GiB. */
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
  /** Name of the NodeClaim. */
  readonly name: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly usdPerHour: number;
  /** Reason for the removal of this node. */
  readonly reason?: string;
}
