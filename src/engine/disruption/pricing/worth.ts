/**
 * What the room that pods take is worth at the best prices that new nodes are sold for. The difference to what their node
 * costs is the most that can be saved by housing them anew.
 */
import type { NodePool } from '../../../api/nodepool.ts';
import { allocatable, requirementsOf } from '../../instance-types.ts';
import type { InstanceType, PoolInput, Resources } from '../../model.ts';
import { extrasUsdPerHour } from '../../node-extras.ts';
import type { CommittedUse } from '../../price-book/committed-use.ts';
import { coveredTypes } from '../../price-book/covered-types.ts';
import { addResources, podRequests } from '../../resources.ts';
import { templateRequirements } from '../../solver/template.ts';
import { type PricedRoom, type UnitPrices, unitPricesOf } from '../../unit-prices.ts';
import type { Candidate } from '../candidates/candidates.ts';
import { PricedTypes } from '../price-table.ts';

interface KnownRows {
  readonly nodePool: NodePool;
  readonly extrasUsdPerHour: number;
  readonly rows: readonly PricedRoom[];
}

/** By the list of instance types, of the NodePool that asked last: lists stay the same for minutes. */
const known = new WeakMap<readonly InstanceType[], KnownRows>();

/** What a NodePool can buy, at the best price of each. */
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
    return isSold && cpu > 0 && memory > 0 ? [{ cpu, memory, usdPerHour }] : [];
  });
}

/** What room is worth at the best prices of what a NodePool can buy, for a demand of such a mix. */
export const unitPrices = (pool: PoolInput, demand: Resources): UnitPrices => unitPricesOf(rowsOf(pool), demand);

const requestsOf = ({ reschedulablePods }: Candidate): Resources => addResources(...reschedulablePods.map(podRequests));

/**
 * Candidates with what they cost beyond what their pods' room is worth, USD per hour; the most wasteful first. What commitments
 * cover costs nothing, and what is left of them makes room cheap.
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
      const { cpu = 0, memory = 0 } = requests[at] ?? {};
      const own = candidate.usdPerHour - (committed?.lost([candidate.providerId]) ?? 0);
      return { candidate, usdPerHour: own - cpu * prices.cpu - memory * prices.memory };
    })
    .sort((a, b) => b.usdPerHour - a.usdPerHour || (a.candidate.name < b.candidate.name ? -1 : 1));
}
