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
import type { Candidate } from '../candidates/candidates.ts';
import { PricedTypes } from '../price-table.ts';

/** USD per hour for a milli-core and for a byte of memory. */
export interface UnitPrices {
  readonly cpu: number;
  readonly memory: number;
}

const STEPS = 60;

interface Row {
  readonly cpu: number;
  readonly memory: number;
  readonly usdPerHour: number;
}

interface KnownRows {
  readonly nodePool: NodePool;
  readonly extrasUsdPerHour: number;
  readonly rows: readonly Row[];
}

/** By the list of instance types, of the NodePool that asked last: lists stay the same for minutes. */
const known = new WeakMap<readonly InstanceType[], KnownRows>();

/** What a NodePool can buy, at the best price of each. */
function rowsOf(pool: PoolInput): readonly Row[] {
  const { nodePool, instanceTypes, extras } = pool;
  const last = known.get(instanceTypes);
  if (last?.nodePool === nodePool && last.extrasUsdPerHour === extrasUsdPerHour(extras)) return last.rows;
  const rows = computedRows(pool);
  known.set(instanceTypes, { nodePool, extrasUsdPerHour: extrasUsdPerHour(extras), rows });
  return rows;
}

function computedRows({ nodePool, instanceTypes, extras }: PoolInput): readonly Row[] {
  const requirements = templateRequirements(nodePool);
  const prices = PricedTypes.of(instanceTypes).under(requirements);
  return instanceTypes.flatMap((type) => {
    const { cpu = 0, memory = 0 } = allocatable(type);
    const usdPerHour = prices.cheapest(type) + extrasUsdPerHour(extras);
    const isSold = Number.isFinite(usdPerHour) && requirementsOf(type).intersects(requirements);
    return isSold && cpu > 0 && memory > 0 ? [{ cpu, memory, usdPerHour }] : [];
  });
}

/**
 * The prices at which the demand is worth most while no instance type is worth more than it costs: the dual of the linear
 * program that buys fractions of nodes for the demand, so that no purchase can be cheaper. It is concave in the price of
 * CPU, which makes a ternary search enough.
 */
export function unitPrices(pool: PoolInput, demand: Resources): UnitPrices {
  const rows = rowsOf(pool);
  if (rows.length === 0) return { cpu: 0, memory: 0 };
  const { cpu = 0, memory = 0 } = demand;
  const memoryPriceAt = (cpuPrice: number): number =>
    Math.max(0, Math.min(...rows.map((row) => (row.usdPerHour - cpuPrice * row.cpu) / row.memory)));
  const worthAt = (cpuPrice: number): number => cpuPrice * cpu + memoryPriceAt(cpuPrice) * memory;
  let low = 0;
  let high = Math.min(...rows.map((row) => row.usdPerHour / row.cpu));
  for (let step = 0; step < STEPS; step++) {
    const [left, right] = [low + (high - low) / 3, high - (high - low) / 3];
    if (worthAt(left) < worthAt(right)) low = left;
    else high = right;
  }
  return { cpu: low, memory: memoryPriceAt(low) };
}

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
