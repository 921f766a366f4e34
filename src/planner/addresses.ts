/** Free addresses of subnets, as ceilings of their zones. */
import { getCondition, NODEPOOL_LABEL, ZONE_LABEL } from '#api/objects';
import { ADDRESSES } from '#engine/costs';
import {
  type AddressNeeds,
  amountIn,
  type Ceiling,
  isUnlaunched,
  type PoolInput,
  type StateNode,
  type ZoneAddresses,
} from '#engine/model';
import { remembering, timeOf } from '#lib';
import { type Use, usedAmounts } from './ceilings.ts';

/** Subnets of a zone, with the NodePools that share them. */
interface SharedSubnets extends ZoneAddresses {
  readonly nodePools: string[];
  needs: AddressNeeds;
}

/** Resolution of times in conditions. */
const SECOND_MS = 1000;

/**
 * Returns a ceiling for the subnets of each zone that launches could fill. Nodes that join after the description of the subnets
 * are its use, because the free addresses do not include all of their addresses.
 * @param pendingPods number of pods to place
 */
export function addressCeilings(use: Use, pendingPods: number): readonly Ceiling[] {
  const shared = groupSubnets(use.pools);
  if (shared.length === 0) return [];
  // a node holds a pod that is pending, or replaces a node
  const mostLaunches = pendingPods + use.nodes.length;
  return shared.flatMap((subnets) => {
    const most = mostOf(subnets.needs.byType);
    const ceiling = ceilingOf(subnets, most);
    if (amountIn(ceiling.limits, ADDRESSES) >= most * (mostLaunches + use.nodes.length)) return [];
    const nodes = use.nodes.filter((node) => isJoining(node, subnets.describedMs));
    return [{ ...ceiling, used: usedAmounts(ceiling, { ...use, nodes }) }];
  });
}

/** NodePools with the same subnets in a zone share their addresses. */
function groupSubnets(pools: readonly PoolInput[]): readonly SharedSubnets[] {
  const found = new Map<string, SharedSubnets>();
  for (const { nodePool, addresses } of pools)
    for (const zone of addresses?.zones ?? []) {
      const key = zone.subnets.join();
      const known = found.get(key);
      const needs = addresses?.needs ?? NO_NEEDS;
      if (known === undefined) found.set(key, { ...zone, nodePools: [nodePool.metadata.name], needs });
      else {
        known.nodePools.push(nodePool.metadata.name);
        known.needs = mergeNeeds(known.needs, needs);
      }
    }
  return [...found.values()];
}

const NO_NEEDS: AddressNeeds = { id: '', byType: new Map() };

function mergeNeeds(a: AddressNeeds, b: AddressNeeds): AddressNeeds {
  if (a.id === b.id) return a;
  const byType = new Map(a.byType);
  for (const [type, amount] of b.byType) byType.set(type, Math.max(amount, byType.get(type) ?? 0));
  return { id: `${a.id} ${b.id}`, byType };
}

const mostOf = remembering((byType: AddressNeeds['byType']): number => Math.max(1, ...byType.values()));

const ceilingOf = ({ zone, subnets, free, nodePools, needs }: SharedSubnets, most: number): Omit<Ceiling, 'used'> => ({
  object: { kind: 'Subnet', name: `${subnets.join(', ')} in ${zone}` },
  field: 'free',
  limits: { [ADDRESSES]: roomOf(free, most) },
  addresses: needs,
  selector: {
    matchExpressions: [
      { key: NODEPOOL_LABEL, operator: 'In', values: nodePools },
      { key: ZONE_LABEL, operator: 'In', values: [zone] },
    ],
  },
});

/**
 * Returns the addresses that nodes can take without a remainder in one of the subnets that is too small. Each node is launched in
 * the subnet with the most free addresses.
 * @param most largest number of addresses of a node
 */
export function roomOf(free: readonly number[], most: number): number {
  const sum = free.reduce((total, each) => total + each, 0);
  return Math.max(0, ...free, sum - (free.length - 1) * (most - 1));
}

/** Returns true for a node that was not initialized when its subnet was described. */
function isJoining(node: StateNode, describedMs: number): boolean {
  const { nodeClaim } = node;
  if (nodeClaim === undefined) return false;
  if (isUnlaunched(node)) return true;
  const initialized = getCondition(nodeClaim, 'Initialized');
  return initialized?.status !== 'True' || timeOf(initialized.lastTransitionTime) + SECOND_MS > describedMs;
}
