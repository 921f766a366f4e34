/** Computes the price of every node, by the offering that matches its labels. */

import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL } from '#api/objects';
import { defined, own } from '#lib';
import { reportedSurplus } from '../disruption/candidates/disruption-cost.ts';
import type { PoolInput, StateNode } from '../model.ts';
import type { Commitment } from '../price-book/commitment.ts';
import { coverageOf } from '../price-book/coverage.ts';
import { runningInstances, typeFinder } from '../price-book/running-instances.ts';
import type { NodePrice } from './account.ts';

/**
 * Returns prices by provider id. Nodes without a known offering in any NodePool have no price. Commitments also cover nodes that
 * are being deleted, because these run until they are gone. The list price of reserved capacity is the on-demand price, because
 * reserved capacity is paid even if no node uses it.
 */
export function nodePrices(
  nodes: readonly StateNode[],
  pools: readonly PoolInput[],
  commitments: readonly Commitment[] = [],
): ReadonlyMap<string, NodePrice> {
  const extras = new Map(pools.map((pool) => [pool.nodePool.metadata.name, pool.extras]));
  const poolOf = new Map(nodes.map(({ providerId, labels }) => [providerId, own(labels, NODEPOOL_LABEL) ?? '']));
  const running = runningInstances(nodes.map(staying), pools);
  const { covered } = coverageOf(running, commitments);
  const lists = onDemandPrices(nodes, pools);
  const surplus = surplusPrices(nodes, pools);
  return new Map(
    running
      .filter(({ usdPerHour }) => !Number.isNaN(usdPerHour))
      .map(({ id, usdPerHour, listUsdPerHour }) => [
        id,
        {
          usdPerHour,
          ...defined({
            listUsdPerHour: lists.get(id) ?? listUsdPerHour,
            surplusUsdPerHour: surplus.get(id),
            extras: extras.get(poolOf.get(id) ?? ''),
            coveredUsdPerHour: covered.get(id),
          }),
        },
      ]),
  );
}

/** Returns the expected price of surplus CPU by provider id. Nodes without surplus credits are absent. */
function surplusPrices(nodes: readonly StateNode[], pools: readonly PoolInput[]): ReadonlyMap<string, number> {
  const finder = typeFinder(pools);
  return new Map(
    nodes.flatMap((node) => {
      const { providerId, labels } = node;
      const type = finder(own(labels, INSTANCE_TYPE_LABEL) ?? '', own(labels, NODEPOOL_LABEL) ?? '');
      const usd = type === undefined ? 0 : reportedSurplus(node, type);
      return usd > 0 ? [[providerId, usd] as const] : [];
    }),
  );
}

const staying = (node: StateNode): StateNode => (node.markedForDeletion ? { ...node, markedForDeletion: false } : node);

/** Returns on-demand list prices of the nodes with reserved capacity, by provider id. */
function onDemandPrices(nodes: readonly StateNode[], pools: readonly PoolInput[]): ReadonlyMap<string, number> {
  const reserved = nodes
    .filter(({ labels }) => own(labels, CAPACITY_TYPE_LABEL) === 'reserved')
    .map((node) => staying({ ...node, labels: { ...node.labels, [CAPACITY_TYPE_LABEL]: 'on-demand' } }));
  return new Map(
    runningInstances(reserved, pools).map(({ id, usdPerHour, listUsdPerHour = usdPerHour }) => [id, listUsdPerHour]),
  );
}
