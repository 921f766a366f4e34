/** What is spent now, as `/debug/cost` and `karpenter cost` show it. Of public form; amounts are USD per hour. */

/** What the nodes, or the pods on them, may be grouped by. */
export type CostDimension = 'nodePool' | 'zone' | 'capacityType' | 'instanceType' | 'namespace' | 'workload';

export interface CostSums {
  /** 0 in groups of pods, which share nodes. */
  readonly nodes: number;
  readonly pods: number;
  /** What is paid: instances at their own prices less what commitments cover, volumes, addresses and fees. */
  readonly usdPerHour: number;
  /** The same at AWS's list prices, as if nothing were covered. */
  readonly listUsdPerHour: number;
  /** Of what is paid: for pods that are not of DaemonSets. */
  readonly workloadsUsdPerHour: number;
  readonly daemonSetsUsdPerHour: number;
  /** Of what is paid: for what no pod requests. */
  readonly idleUsdPerHour: number;
}

export interface CostGroup extends CostSums {
  /** `namespace/Kind/name` of workloads; `__idle__` of what is idle where pods are grouped. */
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
}

export interface CostReport {
  /** RFC 3339. */
  readonly at: string;
  readonly total: CostSums;
  /** What the total is made of: instances + volumes + publicIpv4 + fees − covered. */
  readonly price: {
    readonly instancesUsdPerHour: number;
    readonly volumesUsdPerHour: number;
    readonly publicIpv4UsdPerHour: number;
    readonly feesUsdPerHour: number;
    readonly coveredUsdPerHour: number;
  };
  /** Dearest first. */
  readonly groups: Readonly<Record<CostDimension, readonly CostGroup[]>>;
  /** At most 100, those with the most idle cost first. */
  readonly nodes: readonly NodeCost[];
  /** Nodes of NodePools whose price nobody knows; they count nothing. At most 20 are named. */
  readonly unpriced: { readonly nodes: number; readonly names: readonly string[] };
  /** Nodes of no NodePool, which count nothing. */
  readonly otherNodes: number;
}
