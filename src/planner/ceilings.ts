/** Ceilings of a cluster with their use: of NodePolicies in money, and of CapacityQuotas in resources. */
import {
  type CapacityQuota,
  type LabelSelector,
  NODEPOOL_LABEL,
  type NodePolicy,
  type NodePool,
  selectsPool,
} from '#api/objects';
import { readQuota } from '#api/validation';
import {
  chargesUsdPerHour,
  claimRequirements,
  largestClaimAmounts,
  NO_CHARGES,
  nodeAmounts,
  USD,
  usdLimit,
} from '#engine/costs';
import {
  addResources,
  type Ceiling,
  countsTowardLimits,
  type InstanceType,
  isUnlaunched,
  maxResources,
  maySelect,
  type PoolInput,
  type Resources,
  resourcesOf,
  type StateNode,
  selects,
} from '#engine/model';
import { tryRun } from '#lib';
import type { ClusterState } from '#state';
import { overdueNodes } from './overdue-nodes.ts';
import type { Catalogue } from './pool-inputs.ts';

/** Objects that can have a ceiling. */
export interface CeilingSources {
  readonly policies: readonly NodePolicy[];
  readonly quotas: readonly CapacityQuota[];
}

interface Use {
  readonly nowMs: number;
  /** Nodes, and NodeClaims that are not launched yet. */
  readonly nodes: readonly StateNode[];
  /** Inputs of NodePools. The nodes of other NodePools have the prices of the same instance types. */
  readonly pools: readonly PoolInput[];
}

/** @param nodePools all NodePools */
export const ceilingsOf = (
  { policies, quotas }: CeilingSources,
  nodePools: readonly NodePool[],
  use: Use,
): readonly Ceiling[] =>
  [...policies.flatMap((policy) => policyCeiling(policy, nodePools)), ...quotas.map(quotaCeiling)].map((ceiling) => ({
    ...ceiling,
    used: usedAmounts(ceiling, use),
  }));

type Limit = Omit<Ceiling, 'used'>;

function policyCeiling(policy: NodePolicy, nodePools: readonly NodePool[]): readonly Limit[] {
  const { usdPerHour } = policy.spec.ceilings ?? {};
  if (usdPerHour === undefined) return [];
  const values = nodePools.filter((pool) => selectsPool(policy, pool)).map(({ metadata }) => metadata.name);
  return [
    {
      object: { kind: 'NodePolicy', name: policy.metadata.name },
      field: 'spec.ceilings',
      limits: { [USD]: usdLimit(usdPerHour) },
      selector: { matchExpressions: [{ key: NODEPOOL_LABEL, operator: 'In', values }] },
    },
  ];
}

function quotaCeiling(quota: CapacityQuota): Limit {
  const { selector, limits, unreadable } = readQuota(quota);
  return {
    object: { kind: 'CapacityQuota', name: quota.metadata.name },
    field: 'spec.limits.resources',
    limits: { ...resourcesOf(limits), ...Object.fromEntries(unreadable.map((name) => [name, 0])) },
    selector,
  };
}

/** Label of nodes that stand for the capacity of another cluster. */
const VIRTUAL_KUBELET = { type: 'virtual-kubelet' };

const isVirtual = ({ labels }: StateNode): boolean => labels.type === VIRTUAL_KUBELET.type;

function usedAmounts(ceiling: Limit, { nodes, pools, nowMs }: Use): Resources {
  const inputs = new Map(pools.map((pool) => [pool.nodePool.metadata.name, pool]));
  const counted = nodes.filter(
    (node) => !isVirtual(node) && countsTowardLimits(node, nowMs) && isSelected(ceiling.selector, node),
  );
  const amounts = counted.map((node) => {
    const own = inputs.get(node.labels[NODEPOOL_LABEL] ?? '');
    const possible = own === undefined || own.instanceTypes.length === 0 ? pools : [own];
    return maxResources(
      ...possible.map(({ instanceTypes: types, extras }) => {
        const input = { types, chargesUsdPerHour: chargesUsdPerHour(extras) };
        const { nodeClaim } = node;
        return nodeClaim !== undefined && isUnlaunched(node)
          ? largestClaimAmounts(ceiling, nodeClaim, input)
          : nodeAmounts(ceiling, node, input);
      }),
    );
  });
  return addResources(...amounts);
}

/** A node that has not joined counts if it can get labels with which it counts. */
const isSelected = (selector: LabelSelector, { nodeClaim, registered, labels }: StateNode): boolean =>
  nodeClaim === undefined || registered ? selects(selector, labels) : maySelect(selector, claimRequirements(nodeClaim));

interface ReadingParts {
  readonly catalogue: Catalogue;
  readonly nowMs: () => number;
}

/** Returns a function that computes the current ceilings. NodeClaims that are being created count. */
export async function ceilingReader(
  cluster: ClusterState,
  sources: CeilingSources,
  { catalogue, nowMs }: ReadingParts,
): Promise<() => readonly Ceiling[]> {
  const { nodePools } = cluster.stores;
  const isCounted = (pool: NodePool): boolean =>
    sources.quotas.length > 0 || sources.policies.some((policy) => selectsPool(policy, pool));
  const selected = nodePools.list().filter(isCounted);
  const pools = await Promise.all(selected.map((nodePool) => pricedPool(nodePool, catalogue)));
  return () => {
    const names = nodePools.list().map(({ metadata }) => metadata.name);
    const launching = [
      // includes NodeClaims of deleted NodePools
      ...cluster.unlaunched.all().map(({ claim }) => claim),
      ...names.flatMap((name) => cluster.launchingOf(name)),
    ];
    const known = new Map(launching.map((claim) => [claim.metadata.name, claim]));
    const claims = [...known.values(), ...names.flatMap((name) => cluster.creations.of(name))];
    const unlaunched = claims.map((claim) => ({ claim, pods: undefined }));
    const nodes = [...cluster.nodes(), ...overdueNodes(unlaunched, pools)];
    return ceilingsOf(sources, nodePools.list(), { nowMs: nowMs(), nodes, pools });
  };
}

/** Returns the objects with a ceiling that can count nodes of a NodePool. */
export const ceilingSources = (cluster: ClusterState, nodePool: NodePool): CeilingSources => ({
  policies: cluster.stores.nodePolicies
    .list()
    .filter((policy) => policy.spec.ceilings !== undefined && selectsPool(policy, nodePool)),
  quotas: cluster.quotas(),
});

async function pricedPool(nodePool: NodePool, catalogue: Catalogue): Promise<PoolInput> {
  const instanceTypes = await catalogue.instanceTypes(nodePool).catch((): readonly InstanceType[] => []);
  const charges = tryRun(() => catalogue.charges?.(nodePool)) ?? NO_CHARGES;
  return { nodePool, instanceTypes, extras: { feeUsdPerHour: 0, ...charges } };
}
