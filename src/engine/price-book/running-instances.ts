/** Returns the instances of a cluster's nodes from the perspective of commitments. */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, ZONE_LABEL } from '#api/objects';
import { own } from '#lib';
import { offeringOf } from '../instance-types.ts';
import type { EngineNode, InstanceType, Offering, PoolInput } from '../model.ts';
import type { RunningInstance } from './coverage.ts';

/** Label of nodes that EKS manages. */
const EKS_CAPACITY_TYPE_LABEL = 'eks.amazonaws.com/capacityType';

/**
 * Returns the instances of all staying nodes, including nodes that Karpenter did not launch. Such nodes also use commitments,
 * and count as on-demand unless their labels differ. Omits nodes if no NodePool has their type, because their price is unknown.
 */
export function runningInstances(
  nodes: readonly EngineNode[],
  pools: readonly PoolInput[],
): readonly RunningInstance[] {
  const finder = typeFinder(pools);
  return nodes.flatMap((node) => {
    if (node.markedForDeletion) return [];
    const { labels, providerId } = node;
    const zone = own(labels, ZONE_LABEL) ?? '';
    const capacityType = capacityTypeOf(node);
    const type = finder(own(labels, INSTANCE_TYPE_LABEL) ?? '', own(labels, NODEPOOL_LABEL) ?? '');
    const offering = type && offeringOf(type, { zone, capacityType });
    return type === undefined || offering === undefined
      ? []
      : [instanceOf(providerId, type.name, { zone, capacityType }, offering)];
  });
}

const instanceOf = (
  id: string,
  instanceType: string,
  place: Pick<RunningInstance, 'zone' | 'capacityType'>,
  { usdPerHour, listUsdPerHour }: Offering,
): RunningInstance => ({ id, instanceType, ...place, usdPerHour, listUsdPerHour });

function capacityTypeOf({ labels }: EngineNode): string {
  const known = own(labels, CAPACITY_TYPE_LABEL);
  if (known !== undefined) return known;
  return own(labels, EKS_CAPACITY_TYPE_LABEL) === 'SPOT' ? 'spot' : 'on-demand';
}

/** Returns a function that finds a type by name, preferably in the node's own NodePool. */
export function typeFinder(pools: readonly PoolInput[]): (name: string, pool: string) => InstanceType | undefined {
  const lists = new Map<readonly InstanceType[], ReadonlyMap<string, InstanceType>>();
  const byPool = new Map<string, ReadonlyMap<string, InstanceType>>();
  for (const { nodePool, instanceTypes } of pools) {
    const list = lists.get(instanceTypes) ?? new Map(instanceTypes.map((type) => [type.name, type]));
    lists.set(instanceTypes, list);
    byPool.set(nodePool.metadata.name, list);
  }
  return (name, pool) => {
    const own = byPool.get(pool)?.get(name);
    if (own !== undefined) return own;
    for (const list of lists.values()) {
      const type = list.get(name);
      if (type !== undefined) return type;
    }
    return undefined;
  };
}
