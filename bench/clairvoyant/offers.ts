/** Instance types that the benchmark may launch, and the linear programme of their prices. */
import type { KubeObject } from '#api/objects';
import { builtInTypes, worldOf } from '#cli/testing';
import { chargesUsdPerHour } from '#engine/costs';
import { allocatable, cheapestPrice, LOOSE, type Resources, requirementsOf, templateRequirements } from '#engine/model';
import { priceOfFractions } from '../bound.ts';
import type { Demand, FixedPod, Size } from './demand.ts';

/** Instance type with the allocatable resources that DaemonSets leave. */
export interface Offer extends Size {
  readonly name: string;
  /** Price of the instance and its volumes, in USD per hour. */
  readonly usd: number;
}

const MIB = 2 ** 20;

/** Returns the on-demand types of the first NodePool, cheapest first. */
export async function offersFor(objects: readonly KubeObject[], daemons: Size): Promise<readonly Offer[]> {
  const manifests = objects.map((object) => ({ object, where: object.metadata.name })) as Parameters<typeof worldOf>[0];
  const instanceTypes = builtInTypes(manifests, 0);
  const { snapshot } = await worldOf(manifests, { instanceTypes, nowMs: 0, settings: { nodeHourlyFee: 0 } });
  const [pool] = snapshot.pools;
  if (pool === undefined) throw new Error('the objects contain no NodePool');
  const requirements = templateRequirements(pool.nodePool);
  const extras = pool.extras === undefined ? 0 : chargesUsdPerHour(pool.extras);
  const offers = pool.instanceTypes
    .filter((type) => requirements.compatible(requirementsOf(type), LOOSE))
    .map((type) => {
      const { cpu = 0, memory = 0 } = allocatable(type);
      const usd = cheapestPrice(type, requirements) + extras;
      return { name: type.name, usd, cpu: cpu - daemons.cpu, memory: memory / MIB - daemons.memory };
    });
  return undominated(offers.filter(({ usd, cpu, memory }) => Number.isFinite(usd) && cpu > 0 && memory > 0));
}

/** Returns the offers that no cheaper offer exceeds in both resources, cheapest first. */
export function undominated(offers: readonly Offer[]): readonly Offer[] {
  const kept: Offer[] = [];
  for (const offer of [...offers].sort((a, b) => a.usd - b.usd || b.cpu - a.cpu || b.memory - a.memory))
    if (!kept.some(({ cpu, memory }) => cpu >= offer.cpu && memory >= offer.memory)) kept.push(offer);
  return kept;
}

/** Prices of both resources in USD per hour, at which no offer costs less than its resources. */
export interface Worth {
  readonly cpu: number;
  readonly memory: number;
}

export const worthOf = ({ cpu, memory }: Size, worth: Worth): number => cpu * worth.cpu + memory * worth.memory;

/** Returns the vertices of the dual programme. One of them is optimal for any demand. */
export function dualVertices(offers: readonly Offer[]): readonly Worth[] {
  const cheapest = (ratio: (offer: Offer) => number): number => Math.min(...offers.map(ratio));
  const vertices: Worth[] = [
    { cpu: cheapest(({ usd, cpu }) => usd / cpu), memory: 0 },
    { cpu: 0, memory: cheapest(({ usd, memory }) => usd / memory) },
  ];
  for (const [index, one] of offers.entries())
    for (const other of offers.slice(index + 1)) {
      const determinant = one.cpu * other.memory - other.cpu * one.memory;
      if (Math.abs(determinant) < 1e-9) continue;
      const cpu = (one.usd * other.memory - other.usd * one.memory) / determinant;
      vertices.push({ cpu, memory: (one.cpu * other.usd - other.cpu * one.usd) / determinant });
    }
  const isFeasible = (worth: Worth): boolean =>
    worth.cpu >= 0 && worth.memory >= 0 && offers.every((offer) => worthOf(offer, worth) <= offer.usd * (1 + 1e-9));
  return vertices.filter(isFeasible);
}

/** Returns the vertex that rates an amount of both resources highest, which is its price in fractions of offers. */
export const worthFor = (amount: Size, offers: readonly Offer[]): Worth =>
  dualVertices(offers).reduce((best, other) => (worthOf(amount, other) > worthOf(amount, best) ? other : best));

/** Leaves out offers if a larger offer has more of both resources for each USD, so that fractions of it cost less. */
const bestFractions = (offers: readonly Offer[]): readonly Offer[] =>
  offers.filter(
    ({ usd, cpu, memory }) =>
      !offers.some((other) => {
        const [ofCpu, ofMemory] = [other.cpu / cpu, other.memory / memory];
        const least = Math.min(ofCpu, ofMemory);
        return least > 1 && other.usd / usd < least;
      }),
  );

/** Returns the cost of fractions of the best offers for the pods of each moment, in USD. */
export async function lowerBoundUsd(
  { seconds }: Demand,
  pods: readonly FixedPod[],
  offers: readonly Offer[],
): Promise<number> {
  const types = bestFractions(offers).map(({ usd, ...size }) => ({ usd, room: resourcesOf(size) }));
  const sorts = new Map<string, { readonly requests: Resources; count: number }>();
  const changes = pods.flatMap((pod) => [
    { pod, at: pod.at, by: 1 },
    { pod, at: Math.min(pod.at + pod.runs, pod.until), by: -1 },
  ]);
  let [total, since] = [0, 0];
  for (const { pod, at, by } of changes.sort((a, b) => a.at - b.at)) {
    const end = Math.min(at, seconds);
    if (end > since) total += (end - since) * (await priceOf(sorts, types));
    since = Math.max(since, end);
    const key = `${pod.cpu}/${pod.memory}`;
    const sort = sorts.get(key) ?? { requests: resourcesOf(pod), count: 0 };
    sort.count += by;
    sorts.set(key, sort);
  }
  return (total + (seconds - since) * (await priceOf(sorts, types))) / 3600;
}

const resourcesOf = ({ cpu, memory }: Size): Resources => ({ cpu, memory: memory * MIB });

function priceOf(
  sorts: ReadonlyMap<string, Parameters<typeof priceOfFractions>[0][number]>,
  types: Parameters<typeof priceOfFractions>[1],
): Promise<number> | number {
  const running = [...sorts.values()].filter(({ count }) => count > 0);
  return running.length === 0 ? 0 : priceOfFractions(running, types);
}
