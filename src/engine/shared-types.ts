/**
 * Shares one object for all equal instance types, and for their equal parts, across NodeClasses and NodePools. Does not keep
 * unused objects alive.
 */

import { ByText, sameItems } from '#lib';
import type { CpuBurst } from './cpu-burst.ts';
import type { InstanceType, InstanceTypeOverhead, Offering, Requirement, Resources } from './model.ts';

type Requirements = readonly Requirement[];

const requirements = new ByText<Requirement>();
const lists = new ByText<Requirements>();
/** Types by name, with the variants of different NodeClasses and NodePools. */
const variants = new Map<string, readonly WeakRef<InstanceType>[]>();
/** Lists by their first type. */
const listsFrom = new WeakMap<InstanceType, readonly WeakRef<readonly InstanceType[]>[]>();

const inUse = <T extends object>(references: readonly WeakRef<T>[] = []): readonly T[] =>
  references.map((reference) => reference.deref()).filter((object) => object !== undefined);

/** Numbers of requirements in the text of a list. */
const numbers = new WeakMap<Requirement, number>();
let lastNumber = 0;

function sharedRequirement(requirement: Requirement): Requirement {
  if (numbers.has(requirement)) return requirement;
  const { key, operator, values, minValues } = requirement;
  // values never contain a line break
  const text = `${key} ${operator} ${values === undefined ? '' : `${values.length} ${values.join('\n')}`} ${minValues ?? ''}`;
  return requirements.of(text, () => {
    numbers.set(requirement, ++lastNumber);
    return requirement;
  });
}

/** Shared list of each list. A shared list maps to itself. */
const sharedOf = new WeakMap<Requirements, Requirements>();

/** Returns the list itself, or an equal list that is in use. */
export function sharedRequirements(list: Requirements): Requirements {
  const known = sharedOf.get(list);
  if (known !== undefined) return known;
  const made = list.map(sharedRequirement);
  const shared = lists.of(made.map((each) => numbers.get(each)).join(), () => made);
  sharedOf.set(shared, shared);
  sharedOf.set(list, shared);
  return shared;
}

/**
 * Returns the type itself, or an equal type that is in use. Shares equal parts with other types of the same name. Callers must
 * not modify the argument or the result afterwards.
 */
export function sharedType(type: InstanceType): InstanceType {
  const others = inUse(variants.get(type.name));
  const made: InstanceType = {
    ...type,
    requirements: sharedRequirements(type.requirements),
    capacity: firstEqual(
      type.capacity,
      others.map(({ capacity }) => capacity),
      sameAmounts,
    ),
    overhead: firstEqual(
      type.overhead,
      others.map(({ overhead }) => overhead),
      sameOverhead,
    ),
    offerings: sharedOfferings(type.offerings, others),
  };
  const equal = others.find((other) => sameType(made, other));
  if (equal !== undefined) return equal;
  variants.set(
    type.name,
    [...others, made].map((each) => new WeakRef(each)),
  );
  return made;
}

/** Returns the list itself, or a list in use that has the same types in the same order. */
export function sharedTypeList(types: readonly InstanceType[]): readonly InstanceType[] {
  const [first] = types;
  if (first === undefined) return types;
  const others = inUse(listsFrom.get(first));
  const equal = others.find((other) => sameItems(types, other));
  if (equal !== undefined) return equal;
  listsFrom.set(
    first,
    [...others, types].map((each) => new WeakRef(each)),
  );
  return types;
}

function sharedOfferings(offerings: readonly Offering[], others: readonly InstanceType[]): readonly Offering[] {
  const made = offerings.every((offering) => sharedOf.get(offering.requirements) === offering.requirements)
    ? offerings
    : offerings.map((offering) => ({ ...offering, requirements: sharedRequirements(offering.requirements) }));
  for (const other of others) {
    if (other.offerings.length !== made.length) continue;
    if (made.every((offering, at) => sameOffering(offering, other.offerings[at]))) return other.offerings;
  }
  return made;
}

function firstEqual<T>(made: T, others: Iterable<T>, isSame: (a: T, b: T) => boolean): T {
  for (const other of others) if (isSame(made, other)) return other;
  return made;
}

/** Parts are already shared, so equal parts are identical. */
const sameType = (a: InstanceType, b: InstanceType): boolean =>
  a.requirements === b.requirements &&
  a.capacity === b.capacity &&
  a.overhead === b.overhead &&
  a.offerings === b.offerings &&
  sameOptional(a.cpuBurst, b.cpuBurst, sameBurst) &&
  sameOptional(a.volumeLimits, b.volumeLimits, sameAmounts) &&
  a.capacityOverlaid === b.capacityOverlaid;

const sameOffering = (a: Offering, b: Offering | undefined): boolean =>
  b !== undefined &&
  a.requirements === b.requirements &&
  a.usdPerHour === b.usdPerHour &&
  a.listUsdPerHour === b.listUsdPerHour &&
  a.spotRiskUsdPerHour === b.spotRiskUsdPerHour &&
  a.available === b.available &&
  a.reservationCapacity === b.reservationCapacity &&
  a.priceOverlaid === b.priceOverlaid &&
  sameOptional(a.capacityOverride, b.capacityOverride, sameAmounts) &&
  sameOptional(a.overheadOverride, b.overheadOverride, sameOverhead);

const sameOptional = <T>(a: T | undefined, b: T | undefined, isSame: (a: T, b: T) => boolean): boolean =>
  a === b || (a !== undefined && b !== undefined && isSame(a, b));

const sameBurst = (a: CpuBurst, b: CpuBurst): boolean =>
  a.baseline === b.baseline && a.utilization === b.utilization && a.usdPerVcpuHour === b.usdPerVcpuHour;

const sameOverhead = (a: InstanceTypeOverhead, b: InstanceTypeOverhead): boolean =>
  a === b ||
  (sameAmounts(a.kubeReserved, b.kubeReserved) &&
    sameAmounts(a.systemReserved, b.systemReserved) &&
    sameAmounts(a.evictionThreshold, b.evictionThreshold));

function sameAmounts(a: Resources, b: Resources): boolean {
  if (a === b) return true;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && a[name] === b[name]);
}
