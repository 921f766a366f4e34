/** Cost report of `/debug/cost` and `karpenter cost`. This is a public format; amounts are in USD per hour. */

/** Hours per month in AWS's pricing calculator. */
export const HOURS_PER_MONTH = 730;

/** Dimension by which nodes or their pods are grouped. */
export type CostDimension = 'nodePool' | 'zone' | 'capacityType' | 'instanceType' | 'namespace' | 'workload';

export interface CostSums {
  /** 0 in groups of pods, because pods share nodes. */
  readonly nodes: number;
  readonly pods: number;
  /** Cost as AWS bills it: instances minus the part that commitments cover, plus volumes and public IPv4 addresses. */
  readonly usdPerHour: number;
  /** Same cost at AWS list prices, without commitments. */
  readonly listUsdPerHour: number;
  /** Part of the actual cost for pods that do not belong to DaemonSets. */
  readonly workloadsUsdPerHour: number;
  readonly daemonSetsUsdPerHour: number;
  /** Part of the actual cost that no pod requests. */
  readonly idleUsdPerHour: number;
  /** Planning figure that the amounts above exclude: expected surplus CPU. */
  readonly surplusCreditsUsdPerHour: number;
}

export interface CostGroup extends CostSums {
  /** `namespace/Kind/name` of a workload, or `__idle__` for the idle cost if pods are grouped. */
  readonly name: string;
}

export interface NodeCost {
  readonly node: string;
  readonly nodeClaim?: string;
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly pods: number;
  readonly usdPerHour: number;
  readonly idleUsdPerHour: number;
  /** Planning figure that the cost excludes: expected surplus CPU. */
  readonly surplusCreditsUsdPerHour: number;
}

export interface CostReport {
  /** RFC 3339. */
  readonly at: string;
  readonly total: CostSums;
  /** Components of the total: instances + volumes + publicIpv4 − covered. */
  readonly price: {
    readonly instancesUsdPerHour: number;
    readonly volumesUsdPerHour: number;
    readonly publicIpv4UsdPerHour: number;
    readonly coveredUsdPerHour: number;
  };
  /** Planning figures, which decisions add to the price. The total excludes them. */
  readonly planning: {
    /** Expected price of CPU beyond the baselines of burstable types. */
    readonly surplusCreditsUsdPerHour: number;
    /** Fee of each node (`NODE_HOURLY_FEE`), which AWS does not bill. */
    readonly feesUsdPerHour: number;
  };
  /** Groups, highest cost first. */
  readonly groups: Readonly<Record<CostDimension, readonly CostGroup[]>>;
  /** At most 100 nodes, highest idle cost first. */
  readonly nodes: readonly NodeCost[];
  /** Nodes of NodePools with an unknown price, which do not contribute to the cost. At most 20 are named. */
  readonly unpriced: { readonly nodes: number; readonly names: readonly string[] };
  /** Number of nodes without a NodePool, which do not contribute to the cost. */
  readonly otherNodes: number;
}
