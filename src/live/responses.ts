/** Responses of the live page's server, by path. Server and page share these types, so that neither changes alone. */
import type { LiveDecision, LiveNode } from './model.ts';

/** Responses by the path below `/api/`. */
export interface Responses {
  readonly node: NodeResponse;
  readonly pod: PodResponse;
  readonly nodepools: RowList<PoolRow>;
  readonly nodepool: PoolResponse;
  readonly nodeclasses: RowList<ClassRow>;
  readonly nodeclass: ClassResponse;
  readonly timeline: TimelineResponse;
  readonly log: LogResponse;
  readonly costs: CostsResponse;
  readonly efficiency: EfficiencyResponse;
  readonly choices: ChoicesResponse;
  readonly 'what-if': WhatIfResponse;
  readonly search: readonly SearchResult[];
}

/** Amounts by resource, in the resource's unit. */
type Amounts = Readonly<Record<string, number>>;

export interface PodLine {
  readonly pod: string;
  readonly phase: string;
  readonly requests: Amounts;
}

/** Condition of an object, as the page shows it. */
export interface ShownCondition {
  readonly kind: string;
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** Time of the last transition, in milliseconds since the epoch; 0 if it is unknown. */
  readonly sinceMs: number;
}

export interface NodeResponse {
  readonly node: LiveNode;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly string[];
  /** Conditions of the NodeClaim, then of the Node. */
  readonly conditions: readonly ShownCondition[];
  readonly methods: readonly { readonly method: string; readonly code: string; readonly text: string }[];
  readonly command?: { readonly method: string; readonly nodes: readonly string[]; readonly savings: number };
  readonly pods: readonly PodLine[];
  readonly morePods: number;
  readonly decisions: readonly LiveDecision[];
}

export interface PodResponse extends PodLine {
  readonly node: string;
  readonly sinceMs: number;
  /** Scheduling condition, as kube-scheduler reports it. */
  readonly scheduling: string;
  /** Last message of the operator about this pod: for each NodePool, the reason why no node is launched. */
  readonly reason?: string;
  /** NodeClaim that was created for this pod. */
  readonly nodeClaim?: string;
  readonly owner: string;
}

export interface RowList<Row> {
  readonly rows: readonly Row[];
  /** Number of objects that are not in the list. */
  readonly more: number;
}

/** Used amount and limit, in the resource's unit. The limit is absent if there is none. */
export interface ShownUsage {
  readonly resource: string;
  readonly used: number;
  readonly limit?: number;
}

export interface PoolRow {
  readonly name: string;
  readonly ready: string;
  /** Reason if the object is not ready. */
  readonly problem: string;
  readonly nodeClass: string;
  readonly weight: number;
  /** Fixed number of nodes of a static NodePool. */
  readonly replicas?: number;
  readonly nodes: number;
  readonly usdPerHour: number;
  readonly usage: readonly ShownUsage[];
}

export interface PoolResponse extends PoolRow {
  readonly conditions: readonly ShownCondition[];
  /** Requirements of the nodes, as `key operator values`. */
  readonly requirements: readonly string[];
  readonly consolidation: string;
  readonly budgets: readonly string[];
  readonly decisions: readonly LiveDecision[];
}

export interface ClassRow {
  readonly name: string;
  readonly kind: string;
  readonly ready: string;
  readonly problem: string;
  readonly nodePools: readonly string[];
  readonly nodes: number;
}

export interface ClassResponse extends ClassRow {
  readonly conditions: readonly ShownCondition[];
  readonly resolved: readonly { readonly what: string; readonly items: readonly string[] }[];
  readonly decisions: readonly LiveDecision[];
}

/** Times of a node, in milliseconds since the epoch. Absent times have not happened or are unknown. */
export interface LifeTimes {
  readonly createdMs: number;
  readonly launchedMs?: number;
  readonly registeredMs?: number;
  readonly initializedMs?: number;
  readonly leavingMs?: number;
  readonly endedMs?: number;
}

export interface NodeLife extends LifeTimes {
  readonly nodeClaim: string;
  readonly node: string;
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** Reason of the launch, such as `provisioned`, and the number of pods. Absent if they are unknown. */
  readonly startReason?: string;
  readonly pods?: number;
  /** Reason of the end, such as `underutilized`. Absent if it is unknown. */
  readonly endReason?: string;
}

export interface TimelineResponse {
  readonly fromMs: number;
  readonly toMs: number;
  /** Ends are known since this time. */
  readonly sinceMs: number;
  /** Latest first. */
  readonly lives: readonly NodeLife[];
  readonly more: number;
}

/** Nodes of all NodePools and their price. */
interface ShownFleet {
  readonly nodes: number;
  readonly usdPerHour: number;
}

/** Decision of the log, as the page shows it. */
export interface ShownLogLine {
  /** RFC 3339. */
  readonly at: string;
  readonly kind: string;
  readonly text: string;
  readonly nodeClaims: readonly string[];
  readonly nodes: readonly string[];
  readonly before?: ShownFleet;
  readonly after?: ShownFleet;
}

export interface LogResponse {
  /** Latest first. */
  readonly lines: readonly ShownLogLine[];
  readonly more: number;
  /** True if the setting COST_HISTORY disables the history. */
  readonly isDisabled: boolean;
}

/** Costs of an hour, in USD per hour, as an average over the observed part of the hour, from 0 to 1. */
export interface HourOfCosts {
  readonly hourMs: number;
  readonly observed: number;
  readonly usd: readonly number[];
}

export interface CostsResponse {
  /** Names of the NodePools, in the order of the costs of each hour. */
  readonly nodePools: readonly string[];
  /** Oldest first. */
  readonly hours: readonly HourOfCosts[];
  /** True if the setting COST_HISTORY disables the history. */
  readonly isDisabled: boolean;
}

type Measured = Readonly<Record<'cpu' | 'memory', number>>;

/** Efficiency of the cluster, or the reason why it is unknown. */
export interface EfficiencyResponse {
  readonly problem?: string;
  readonly source?: string;
  /** Highest idle cost first. */
  readonly groups: readonly {
    readonly name: string;
    readonly pods: number;
    readonly measured: number;
    readonly requested: Measured;
    readonly usedP95: Measured;
    readonly right: Measured;
    readonly usdPerMonth: number;
    readonly idleUsdPerMonth: number;
  }[];
  readonly more: number;
  /** Cost of requests beyond the use, of all groups. */
  readonly idleUsdPerMonth: number;
  /** Pods with a known use, and all pods. */
  readonly measured: number;
  readonly pods: number;
}

export interface ChoicesResponse {
  /** `namespace/Kind/name` of workloads with pods that can be scaled. */
  readonly workloads: readonly string[];
  readonly nodes: readonly string[];
  readonly nodePools: readonly string[];
}

/** Totals of a cluster after its pending pods have been placed. */
interface ShownTotals {
  readonly nodes: number;
  readonly newNodes: number;
  readonly usdPerHour: number;
  /** Pods that stay pending. */
  readonly unschedulable: number;
}

export interface ShownDrain {
  readonly node: string;
  readonly canFinish: boolean;
  readonly terminationGracePeriod?: string;
  readonly blockers: readonly {
    readonly code: string;
    readonly text: string;
    readonly pods?: readonly string[];
    readonly ends?: string;
    readonly until?: string;
  }[];
}

/** Place of a pod after the change. Exactly one of `node`, `newNode` and `problem` is present. */
export interface ShownMove {
  readonly pod: string;
  readonly node?: string;
  /** Position in `newNodes`. */
  readonly newNode?: number;
  readonly problem?: string;
}

export interface ShownEffect {
  readonly before: ShownTotals;
  readonly after: ShownTotals;
  readonly usdPerHourAdded?: number;
  readonly drains: readonly ShownDrain[];
  readonly pods: readonly ShownMove[];
  readonly morePods?: number;
  readonly newNodes: readonly { readonly instanceType: string }[];
}

/** Effect of a change, as far as the page shows it. */
export interface WhatIfResponse {
  readonly addedPods: number;
  readonly removedPods: number;
  /** Difference to the cluster without the change. */
  readonly effect: ShownEffect;
  readonly launches: readonly {
    readonly nodePool: string;
    readonly instanceType: string;
    readonly nodes: number;
    readonly pods: number;
    readonly usdPerHour: number;
  }[];
  readonly existing: readonly { readonly node: string; readonly pods: number }[];
  readonly unschedulable: readonly { readonly pod: string; readonly reason: string }[];
  readonly moreUnschedulable: number;
  readonly notEvaluated: number;
  readonly usdPerHour: number;
}

export interface SearchResult {
  readonly kind: 'node' | 'pod';
  readonly name: string;
  /** Additional text, such as the node of a pod. */
  readonly text: string;
}
