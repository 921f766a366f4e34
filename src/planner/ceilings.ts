/** Ceilings of a cluster with their use: the billed price of the NodeClaims of several NodePools. */
import { NODEPOOL_LABEL, type NodePolicy, type NodePool, selectsPool } from '#api/objects';
import { chargesUsdPerHour, NO_CHARGES, nodeUsd, USD, usdAmount, usdLimit } from '#engine/costs';
import {
  addResources,
  type Ceiling,
  countsTowardLimits,
  type InstanceType,
  type PoolInput,
  type StateNode,
} from '#engine/model';
import { tryRun } from '#lib';
import type { ClusterState } from '#state';
import { overdueNodes } from './overdue-nodes.ts';
import type { Catalogue } from './pool-inputs.ts';

export interface CeilingSources {
  readonly policies: readonly NodePolicy[];
  /** All NodePools. */
  readonly nodePools: readonly NodePool[];
}

interface Use {
  readonly nowMs: number;
  /** Nodes, and NodeClaims that are not launched yet. */
  readonly nodes: readonly StateNode[];
  /** Inputs of NodePools. The nodes of other NodePools have the prices of the same instance types. */
  readonly pools: readonly PoolInput[];
}

export function ceilingsOf({ policies, nodePools }: CeilingSources, use: Use): readonly Ceiling[] {
  return policies.flatMap((policy): readonly Ceiling[] => {
    const { usdPerHour } = policy.spec.ceilings ?? {};
    if (usdPerHour === undefined) return [];
    const { name } = policy.metadata;
    const selected = nodePools.filter((pool) => selectsPool(policy, pool)).map(({ metadata }) => metadata.name);
    return [
      {
        object: { kind: 'NodePolicy', name },
        field: 'spec.ceilings',
        limits: { [USD]: usdLimit(usdPerHour) },
        used: { [USD]: usedUsd(new Set(selected), use) },
        nodePools: selected,
      },
    ];
  });
}

function usedUsd(selected: ReadonlySet<string>, { nodes, pools, nowMs }: Use): number {
  const inputs = new Map(pools.map((pool) => [pool.nodePool.metadata.name, pool]));
  const amounts = nodes.flatMap((node) => {
    const name = node.labels[NODEPOOL_LABEL] ?? '';
    if (!selected.has(name) || !countsTowardLimits(node, nowMs)) return [];
    const own = inputs.get(name);
    const prices = (own === undefined || own.instanceTypes.length === 0 ? pools : [own]).map(
      ({ instanceTypes, extras }) => nodeUsd(node, instanceTypes, chargesUsdPerHour(extras)),
    );
    return [{ [USD]: usdAmount(Math.max(0, ...prices)) }];
  });
  return addResources(...amounts)[USD] ?? 0;
}

interface ReadingParts {
  readonly catalogue: Catalogue;
  readonly nowMs: () => number;
}

/** Returns a function that computes the current ceilings of a policy. NodeClaims that are being created count. */
export async function ceilingReader(
  cluster: ClusterState,
  policies: readonly NodePolicy[],
  { catalogue, nowMs }: ReadingParts,
): Promise<() => readonly Ceiling[]> {
  const { nodePools } = cluster.stores;
  const selected = nodePools.list().filter((pool) => policies.some((policy) => selectsPool(policy, pool)));
  const pools = await Promise.all(selected.map((nodePool) => pricedPool(nodePool, catalogue)));
  return () => {
    const launching = selected.flatMap(({ metadata }) => cluster.launchingOf(metadata.name));
    const unlaunched = launching.map((claim) => ({ claim, pods: undefined }));
    const nodes = [...cluster.nodes(), ...overdueNodes(unlaunched, pools)];
    const sources = { policies, nodePools: nodePools.list() };
    return ceilingsOf(sources, { nowMs: nowMs(), nodes, pools }).map((ceiling) => ({
      ...ceiling,
      used: addResources(ceiling.used, ...ceiling.nodePools.flatMap((name) => cluster.creations.of(name))),
    }));
  };
}

/** Returns the policies with a ceiling for a NodePool. */
export const ceilingPolicies = (cluster: ClusterState, nodePool: NodePool): readonly NodePolicy[] =>
  cluster.stores.nodePolicies
    .list()
    .filter((policy) => policy.spec.ceilings !== undefined && selectsPool(policy, nodePool));

async function pricedPool(nodePool: NodePool, catalogue: Catalogue): Promise<PoolInput> {
  const instanceTypes = await catalogue.instanceTypes(nodePool).catch((): readonly InstanceType[] => []);
  const charges = tryRun(() => catalogue.charges?.(nodePool)) ?? NO_CHARGES;
  return { nodePool, instanceTypes, extras: { feeUsdPerHour: 0, ...charges } };
}
