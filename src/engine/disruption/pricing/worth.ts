/**
 * Computes the worth of the resources that pods request, at the best prices of new nodes. The cost of a node minus this worth is
 * the maximum that a replacement of the node can save.
 */
import type { NodePool } from '#api/objects';
import { remembering } from '#lib';
import type { EnginePod } from '../../input.ts';
import { allocatable, requirementsOf } from '../../instance-types.ts';
import type { EngineNode, InstanceType, PoolInput, Resources } from '../../model.ts';
import { extrasUsdPerHour } from '../../node-extras.ts';
import { templateRequirements } from '../../node-template.ts';
import { placementRequests, readableRequests } from '../../placement-requests.ts';
import { isOwnedByDaemonSet, isTerminal } from '../../pods.ts';
import type { CommittedUse } from '../../price-book/committed-use.ts';
import { coveredTypes } from '../../price-book/covered-types.ts';
import { addResources } from '../../resources.ts';
import { type PricedRoom, pricedRooms, type UnitPrices, unitPricesOf } from '../../unit-prices.ts';
import type { Candidate } from '../command.ts';
import { PricedTypes } from '../price-table.ts';

interface KnownRows {
  readonly nodePool: NodePool;
  readonly extrasUsdPerHour: number;
  readonly rows: readonly PricedRoom[];
}

/** Rows by list of instance types, for the NodePool of the last call. Lists stay the same for minutes. */
const known = new WeakMap<readonly InstanceType[], KnownRows>();

/** Returns the node sizes that a NodePool can launch, each at its best price. */
function rowsOf(pool: PoolInput): readonly PricedRoom[] {
  const { nodePool, instanceTypes, extras } = pool;
  const last = known.get(instanceTypes);
  if (last?.nodePool === nodePool && last.extrasUsdPerHour === extrasUsdPerHour(extras)) return last.rows;
  const rows = computedRows(pool);
  known.set(instanceTypes, { nodePool, extrasUsdPerHour: extrasUsdPerHour(extras), rows });
  return rows;
}

function computedRows({ nodePool, instanceTypes, extras }: PoolInput): readonly PricedRoom[] {
  const requirements = templateRequirements(nodePool);
  const prices = PricedTypes.of(instanceTypes).under(requirements);
  return instanceTypes.flatMap((type) => {
    const { cpu = 0, memory = 0 } = allocatable(type);
    const usdPerHour = prices.cheapest(type) + extrasUsdPerHour(extras);
    const isSold = Number.isFinite(usdPerHour) && requirementsOf(type).intersects(requirements);
    return isSold && cpu > 0 && memory > 0 ? pricedRooms(type, { cpu, memory, usdPerHour }) : [];
  });
}

/**
 * Returns the unit prices of resources at the best prices of the node sizes that a NodePool can launch, for a given mix of
 * demand.
 */
export const unitPrices = (pool: PoolInput, demand: Resources): UnitPrices => unitPricesOf(rowsOf(pool), demand);

/** Returns the requests of the pods that keep a node from being empty. */
export const requestsOnNode = remembering(
  (pods: readonly EnginePod[]): Resources =>
    addResources(...pods.filter((pod) => !isTerminal(pod) && !isOwnedByDaemonSet(pod)).map(readableRequests)),
);

/** Returns the unit prices for the pods on the nodes of a NodePool. */
export const unitPricesIn = (pool: PoolInput, nodes: readonly EngineNode[]): UnitPrices =>
  unitPrices(pool, addResources(...nodes.map(({ pods }) => requestsOnNode(pods))));

/** Returns the worth of resources in USD per hour. */
export const worthOf = ({ cpu = 0, memory = 0 }: Resources, prices: UnitPrices): number =>
  cpu * prices.cpu + memory * prices.memory;

const requestsOf = ({ reschedulablePods }: Candidate): Resources =>
  addResources(...reschedulablePods.map(placementRequests));

/**
 * Returns the candidates with their cost beyond the worth of their pods' resources, in USD per hour, highest first. The covered
 * part of a cost does not count, and unused commitments reduce the price of resources.
 */
export function byWaste(
  candidates: readonly Candidate[],
  pool: PoolInput,
  committed?: CommittedUse,
): readonly { readonly candidate: Candidate; readonly usdPerHour: number }[] {
  const requests = candidates.map(requestsOf);
  const instanceTypes = committed ? coveredTypes(pool.instanceTypes, committed.leftWithout([])) : pool.instanceTypes;
  const prices = unitPrices({ ...pool, instanceTypes }, addResources(...requests));
  return candidates
    .map((candidate, at) => {
      const own = candidate.usdPerHour - (committed?.lost([candidate.providerId]) ?? 0);
      return { candidate, usdPerHour: own - worthOf(requests[at] ?? {}, prices) };
    })
    .sort((a, b) => b.usdPerHour - a.usdPerHour || (a.candidate.name < b.candidate.name ? -1 : 1));
}

/**
 * Sorts candidates by their cost beyond the worth of their pods, per unit of disruption, highest first; ties by name. The price
 * alone would put full nodes with many pods first, and budgets would then leave out the nodes whose replacement saves most.
 */
export function byWasteRatio(
  candidates: readonly Candidate[],
  {
    pools,
    committed,
  }: { readonly pools: ReadonlyMap<string, PoolInput>; readonly committed?: CommittedUse | undefined },
): readonly Candidate[] {
  const ratios = new Map<Candidate, number>();
  for (const [name, own] of Map.groupBy(candidates, ({ nodePool }) => nodePool.metadata.name)) {
    const pool = pools.get(name);
    if (pool === undefined) continue;
    for (const { candidate, usdPerHour } of byWaste(own, pool, committed))
      ratios.set(candidate, usdPerHour / candidate.rescheduleCost);
  }
  const ratioOf = (candidate: Candidate): number => ratios.get(candidate) ?? Number.NEGATIVE_INFINITY;
  return [...candidates].sort((a, b) => ratioOf(b) - ratioOf(a) || (a.name < b.name ? -1 : 1));
}
