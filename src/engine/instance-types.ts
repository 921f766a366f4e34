/** What an instance type can hold and what it costs, under requirements. */
import { CAPACITY_TYPE_LABEL, normalizeLabel, ZONE_LABEL } from '../api/labels.ts';
import type { InstanceType, Offering, Requirement, Resources } from './model.ts';
import { LOOSE, Requirements } from './requirements.ts';
import { addResources, amountIn } from './resources.ts';
import { ValueSet } from './value-set.ts';

/** Compiled requirements are kept with the list that they are of, which many offerings share. */
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

/** The requirements of a type or an offering, compiled once. */
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
 * Capacity less what kubelet, system and eviction threshold keep back, for pods. Huge pages are taken out of memory.
 * With an offering: under that offering's overrides.
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

/** Available offerings that the requirements allow. */
export function compatibleOfferings(type: InstanceType, requirements: Requirements): readonly Offering[] {
  return type.offerings.filter(
    (offering) => offering.available && requirements.compatible(requirementsOf(offering), LOOSE),
  );
}

/** The cheapest of them; the first of equals. */
export function cheapestOffering(type: InstanceType, requirements: Requirements): Offering | undefined {
  let cheapest: Offering | undefined;
  for (const offering of compatibleOfferings(type, requirements))
    if (cheapest === undefined || offering.usdPerHour < cheapest.usdPerHour) cheapest = offering;
  return cheapest;
}

/** USD per hour by which an offering is chosen: its price, and its spot risk on top. */
export const weighedUsdPerHour = ({ usdPerHour, spotRiskUsdPerHour = 0 }: Offering): number =>
  usdPerHour + spotRiskUsdPerHour;

/** The offering that is to be launched: the cheapest with its spot risk on top; the first of equals. */
export function preferredOffering(type: InstanceType, requirements: Requirements): Offering | undefined {
  let preferred: Offering | undefined;
  for (const offering of compatibleOfferings(type, requirements))
    if (preferred === undefined || weighedUsdPerHour(offering) < weighedUsdPerHour(preferred)) preferred = offering;
  return preferred;
}

/** USD per hour of the cheapest offering; infinite when there is none. */
export function cheapestPrice(type: InstanceType, requirements: Requirements): number {
  return cheapestOffering(type, requirements)?.usdPerHour ?? Number.POSITIVE_INFINITY;
}

/** Whether an offering draws on a capacity reservation. */
export const isReserved = ({ requirements }: Offering): boolean =>
  requirements.some(({ key, values }) => key === CAPACITY_TYPE_LABEL && values?.includes(RESERVED));

export const RESERVED = 'reserved';

/** In the order in which capacity types are launched. */
const LAUNCH_ORDER = [RESERVED, 'spot', 'on-demand'];

/** The most that a launch can cost: the dearest offering of the first capacity type that has one; else infinite. */
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

/** Types from cheap to dear under the requirements; equal prices in name order. */
export function orderByPrice(types: readonly InstanceType[], requirements: Requirements): readonly InstanceType[] {
  return types
    .map((type) => ({ type, price: cheapestPrice(type, requirements) }))
    .sort((a, b) => (a.price === b.price ? compareText(a.type.name, b.type.name) : a.price - b.price))
    .map(({ type }) => type);
}

export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** How far a list of types goes towards the `minValues` of some requirements. */
export interface MinValuesResult {
  /** Length of the shortest prefix that satisfies all of them; the whole list when none does. */
  readonly needed: number;
  /** Keys that stay unsatisfied, in order, with the number of different values reached. */
  readonly unsatisfied: readonly (readonly [key: string, reached: number])[];
}

/** Counts values of the types' own requirements, not narrowed by those of the claim. */
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

/** The most types that a claim lists. */
export const MAX_INSTANCE_TYPES = 600;

/** The offering of a type in a zone under a capacity type, sold out or not; the first of several. */
export const offeringOf = (
  { offerings }: InstanceType,
  { zone, capacityType }: { readonly zone: string; readonly capacityType: string },
): Offering | undefined =>
  offerings.find((offering) => {
    const requirements = requirementsOf(offering);
    return requirements.get(ZONE_LABEL).has(zone) && requirements.get(CAPACITY_TYPE_LABEL).has(capacityType);
  });
