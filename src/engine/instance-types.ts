/** Computes the capacity and the cost of an instance type under requirements. */
import { CAPACITY_TYPE_LABEL, normalizeLabel, ZONE_LABEL } from '#api/objects';
import { surplusUsdPerHour } from './cpu-burst.ts';
import type { InstanceType, Offering, Requirement, Resources } from './model.ts';
import { LOOSE, Requirements } from './requirements.ts';
import { addResources, amountIn } from './resources.ts';
import { ValueSet } from './value-set.ts';

/** Compiled requirements by their list. Many offerings share one list. */
const compiled = new WeakMap<readonly Requirement[], Requirements>();
const compiledSets = new WeakMap<Requirement, ValueSet>();

function setOf(requirement: Requirement): ValueSet {
  let set = compiledSets.get(requirement);
  if (set === undefined) {
    set = ValueSet.of(requirement.operator, requirement.values, requirement.minValues);
    compiledSets.set(requirement, set);
  }
  return set;
}

/** Returns the requirements of a type or an offering. Compiles them once. */
export function requirementsOf({ requirements: list }: InstanceType | Offering): Requirements {
  let requirements = compiled.get(list);
  if (requirements === undefined) {
    const sets = new Map<string, ValueSet>();
    for (const requirement of list) {
      const key = normalizeLabel(requirement.key);
      const set = setOf(requirement);
      sets.set(key, sets.get(key)?.intersect(set) ?? set);
    }
    requirements = Requirements.fromSets(sets);
    compiled.set(list, requirements);
  }
  return requirements;
}

/**
 * Returns the capacity minus the reservations for kubelet, system and eviction threshold. Subtracts huge pages from memory. If
 * an offering is given, applies its overrides.
 */
export function allocatable(type: InstanceType, offering?: Offering): Resources {
  const capacity = { ...type.capacity, ...offering?.capacityOverride };
  const overhead = offering?.overheadOverride ?? type.overhead;
  const reserved = addResources(overhead.kubeReserved, overhead.systemReserved, overhead.evictionThreshold);
  const rest: Record<string, number> = {};
  let hugePages = 0;
  for (const [name, amount] of Object.entries(capacity)) {
    rest[name] = amount - amountIn(reserved, name);
    if (name.startsWith('hugepages-')) hugePages += amount;
  }
  if (hugePages > 0 && rest.memory !== undefined) rest.memory = Math.max(0, rest.memory - hugePages);
  return rest;
}

/** Returns available offerings that the requirements allow. */
export function compatibleOfferings(type: InstanceType, requirements: Requirements): readonly Offering[] {
  return type.offerings.filter(
    (offering) => offering.available && requirements.compatible(requirementsOf(offering), LOOSE),
  );
}

/** Returns the cheapest compatible offering. If several are equal, returns the first. */
export function cheapestOffering(type: InstanceType, requirements: Requirements): Offering | undefined {
  let cheapest: Offering | undefined;
  for (const offering of compatibleOfferings(type, requirements))
    if (cheapest === undefined || offering.usdPerHour < cheapest.usdPerHour) cheapest = offering;
  return cheapest;
}

/** Returns the price for a choice of offerings, in USD per hour: the actual price plus spot risk. */
export const weighedUsdPerHour = ({ usdPerHour, spotRiskUsdPerHour = 0 }: Offering): number =>
  usdPerHour + spotRiskUsdPerHour;

/**
 * Returns the offering that should be launched: the cheapest one including spot risk. If several are equal, returns the first.
 */
export function preferredOffering(type: InstanceType, requirements: Requirements): Offering | undefined {
  let preferred: Offering | undefined;
  for (const offering of compatibleOfferings(type, requirements))
    if (preferred === undefined || weighedUsdPerHour(offering) < weighedUsdPerHour(preferred)) preferred = offering;
  return preferred;
}

/** Returns the price of the cheapest offering in USD per hour, or Infinity if there is no offering. */
export function cheapestPrice(type: InstanceType, requirements: Requirements): number {
  return cheapestOffering(type, requirements)?.usdPerHour ?? Number.POSITIVE_INFINITY;
}

/** Returns true if an offering uses a capacity reservation. */
export const isReserved = ({ requirements }: Offering): boolean =>
  requirements.some(({ key, values }) => key === CAPACITY_TYPE_LABEL && values?.includes(RESERVED));

export const RESERVED = 'reserved';

/** Capacity types in the order of launches. */
const LAUNCH_ORDER = [RESERVED, 'spot', 'on-demand'];

/**
 * Returns the highest price that a launch can have: the most expensive offering of the first capacity type with an offering.
 * Returns Infinity if there is no offering.
 */
export function worstLaunchPrice(type: InstanceType, requirements: Requirements): number {
  const offerings = compatibleOfferings(type, requirements);
  for (const capacityType of LAUNCH_ORDER) {
    const prices = offerings
      .filter((offering) => requirementsOf(offering).get(CAPACITY_TYPE_LABEL).has(capacityType))
      .map((offering) => offering.usdPerHour);
    if (prices.length > 0) return Math.max(...prices);
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * Sorts types by price under the requirements, cheapest first. Ties are sorted by name.
 * @param requestedCpu requests of the node's pods in millicores, for the surplus CPU of burstable types
 */
export function orderByPrice(
  types: readonly InstanceType[],
  requirements: Requirements,
  requestedCpu = 0,
): readonly InstanceType[] {
  return types
    .map((type) => ({ type, price: cheapestPrice(type, requirements) + surplusUsdPerHour(type, requestedCpu) }))
    .sort((a, b) => (a.price === b.price ? compareText(a.type.name, b.type.name) : a.price - b.price))
    .map(({ type }) => type);
}

export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Degree to which a list of types satisfies the `minValues` of some requirements. */
export interface MinValuesResult {
  /** Length of the shortest prefix that satisfies all `minValues`, or the length of the whole list if there is no such prefix. */
  readonly needed: number;
  /** Unsatisfied keys, sorted, with their number of distinct values. */
  readonly unsatisfied: readonly (readonly [key: string, reached: number])[];
}

/** Counts the values of the types' own requirements, not narrowed by the requirements of the claim. */
export function satisfiesMinValues(types: readonly InstanceType[], requirements: Requirements): MinValuesResult {
  const wanted = [...requirements.entries()].filter(([, set]) => set.minValues !== undefined);
  if (wanted.length === 0 || types.length === 0) return { needed: 0, unsatisfied: [] };
  const seen = wanted.map(() => new Set<string>());
  const isShort = ([, set]: readonly [string, ValueSet], index: number): boolean =>
    (seen[index]?.size ?? 0) < (set.minValues ?? 0);
  for (const [index, type] of types.entries()) {
    const own = requirementsOf(type);
    for (const [at, [key]] of wanted.entries()) for (const value of own.get(key).values) seen[at]?.add(value);
    if (!wanted.some(isShort)) return { needed: index + 1, unsatisfied: [] };
  }
  const unsatisfied = wanted
    .map((entry, index) => ({ key: entry[0], short: isShort(entry, index), reached: seen[index]?.size ?? 0 }))
    .filter(({ short }) => short)
    .sort((a, b) => compareText(a.key, b.key));
  return { needed: types.length, unsatisfied: unsatisfied.map(({ key, reached }) => [key, reached] as const) };
}

export function minValuesText(unsatisfied: MinValuesResult['unsatisfied']): string {
  const keys = unsatisfied.map(([key]) => key).join(' ');
  return `minValues requirement is not met for label(s) (label(s)=[${keys}])`;
}

/** Maximum number of types in a NodeClaim. */
export const MAX_INSTANCE_TYPES = 600;

/**
 * Returns the offering of a type in a zone with a capacity type, whether it is available or not. If there are several, returns
 * the first.
 */
export const offeringOf = (
  { offerings }: InstanceType,
  { zone, capacityType }: { readonly zone: string; readonly capacityType: string },
): Offering | undefined =>
  offerings.find((offering) => {
    const requirements = requirementsOf(offering);
    return requirements.get(ZONE_LABEL).has(zone) && requirements.get(CAPACITY_TYPE_LABEL).has(capacityType);
  });
