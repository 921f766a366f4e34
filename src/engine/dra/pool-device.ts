/**
 * Devices in the form that the allocation reads. Devices with equal attributes and capacities share one *look*, so that each
 * selector is evaluated once for all of them.
 */

import { SelectorDevice, SelectorQuantity, type SelectorScalar, type SelectorValue } from '#api/devices';
import type { Device, DeviceAttribute, DeviceTaint, NodeSelection, Quantity } from '#api/objects';
import { Semver } from '#api/values';
import { Requirements } from '../requirements.ts';
import { ValueSet } from '../value-set.ts';
import { AmountError, amountOf } from './exact-amounts.ts';

/** Values of an attribute as texts. Equal texts are equal values of the same type. A scalar is a list with one value. */
export type AttributeValues = ReadonlySet<string>;

/** Value that exists only on a running node. */
export interface RuntimeValue {
  /** Devices with the same group have the same value. */
  readonly group: object;
  /** True if devices of other groups have other values. */
  readonly isDistinct: boolean;
}

export interface Capacity {
  readonly value: bigint;
  /** Amount that a request without this capacity consumes. */
  readonly default: bigint;
  readonly validValues?: readonly bigint[];
  readonly range?: { readonly min: bigint; readonly max?: bigint; readonly step?: bigint };
}

export interface CounterUse {
  /** Counter set and counter of the pool, see {@link counterKey}. */
  readonly counter: string;
  readonly amount: bigint;
}

/** Nodes that can use a device. */
export type DevicePlace =
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'everywhere' }
  /** New nodes have no name yet, so they never satisfy a requirement on the name. */
  | { readonly kind: 'nodes'; readonly requirements: Requirements; readonly names: readonly ValueSet[] };

/** Part of a device that selectors and constraints read. */
export interface DeviceLook {
  readonly driver: string;
  readonly attributes: ReadonlyMap<string, AttributeValues>;
  /** By name, as the driver publishes it. */
  readonly capacity: ReadonlyMap<string, Capacity>;
  readonly isShared: boolean;
  readonly seen: SelectorDevice;
}

export interface PoolDevice {
  /** Driver, pool and name, see {@link deviceKey}. */
  readonly key: string;
  readonly driver: string;
  readonly pool: string;
  readonly name: string;
  readonly look: DeviceLook;
  readonly consumes: readonly CounterUse[];
  readonly taints: readonly DeviceTaint[];
  readonly place: DevicePlace;
  /** True for a device of a node that does not exist yet. */
  readonly isTemplate: boolean;
  /** Attributes whose value exists only on a running node. */
  readonly runtime: ReadonlyMap<string, RuntimeValue>;
  readonly bindsLate: boolean;
  /** Devices of a pool with equal identities are interchangeable. */
  readonly likeness: string;
}

/** Returns a text that is unique for each device. Names of pools contain slashes, so names must not be joined. */
export const deviceKey = (driver: string, pool: string, device: string): string =>
  JSON.stringify([driver, pool, device]);

export const counterKey = (counterSet: string, counter: string): string => JSON.stringify([counterSet, counter]);

/** Returns the name with its domain. A name without a domain belongs to the domain of the driver. */
export const qualifiedName = (name: string, driver: string): string =>
  name.includes('/') ? name : `${driver}/${name}`;

/** Creates devices and shares their looks. */
export class DeviceLooks {
  readonly #looks = new Map<string, DeviceLook>();

  /** @throws {AmountError} if a capacity is not valid */
  of(driver: string, device: Device): DeviceLook {
    const { attributes = {}, capacity = {}, allowMultipleAllocations = false } = device;
    const text = JSON.stringify([
      driver,
      Object.entries(attributes),
      Object.entries(capacity),
      allowMultipleAllocations,
    ]);
    let look = this.#looks.get(text);
    if (look === undefined) {
      look = lookOf(driver, device);
      this.#looks.set(text, look);
    }
    return look;
  }
}

function lookOf(driver: string, { attributes = {}, capacity = {}, allowMultipleAllocations }: Device): DeviceLook {
  const isShared = allowMultipleAllocations === true;
  const values = Object.entries(attributes).map(
    ([name, value]) => [qualifiedName(name, driver), selectorValue(value)] as const,
  );
  const capacities = Object.entries(capacity).map(
    ([name, { value, requestPolicy = {} }]) => [name, capacityOf(value, requestPolicy)] as const,
  );
  const amounts = capacities.map(
    ([name, { value }]) => [qualifiedName(name, driver), new SelectorQuantity(value)] as const,
  );
  return {
    driver,
    attributes: new Map(values.map(([name, value]) => [name, textsOf(value)])),
    capacity: new Map(capacities),
    isShared,
    seen: new SelectorDevice(driver, byDomain(values), byDomain(amounts), isShared),
  };
}

function byDomain<T>(values: readonly (readonly [string, T])[]): Map<string, Map<string, T>> {
  const domains = new Map<string, Map<string, T>>();
  for (const [name, value] of values) {
    const slash = name.lastIndexOf('/');
    const domain = name.slice(0, slash);
    const names = domains.get(domain) ?? new Map<string, T>();
    domains.set(domain, names.set(name.slice(slash + 1), value));
  }
  return domains;
}

/** @throws {AmountError} if the attribute has no valid value */
function selectorValue(attribute: DeviceAttribute): SelectorValue {
  const { int, bool, string, version, ints, bools, strings, versions } = attribute;
  const scalars = [int, bool, string, version && versionOf(version)].filter((value) => value !== undefined);
  const lists = [ints, bools, strings, versions?.map(versionOf)].filter((value) => value !== undefined);
  const [value, ...more] = [...scalars.map(scalarOf), ...lists.map((list) => list.map(scalarOf))];
  if (value === undefined || more.length > 0) throw new AmountError('an attribute must have exactly one value');
  return value;
}

const scalarOf = (value: number | boolean | string | Semver): SelectorScalar => {
  if (typeof value !== 'number') return value;
  if (!Number.isInteger(value)) throw new AmountError('an attribute is not an integer');
  return BigInt(value);
};

function versionOf(text: string): Semver {
  const version = Semver.parse(text);
  if (version === undefined) throw new AmountError('an attribute is not a semantic version');
  return version;
}

const textsOf = (value: SelectorValue): AttributeValues =>
  new Set((Array.isArray(value) ? value : [value as SelectorScalar]).map(textOf));

const textOf = (value: SelectorScalar): string =>
  value instanceof Semver ? `version ${value.text}` : `${typeof value} ${value}`;

function capacityOf(
  value: Quantity,
  { default: fallback, validValues, validRange }: NonNullable<NonNullable<Device['capacity']>[string]['requestPolicy']>,
): Capacity {
  const full = amountOf(value);
  const range = validRange && {
    min: amountOf(validRange.min),
    ...(validRange.max !== undefined && { max: amountOf(validRange.max) }),
    ...(validRange.step !== undefined && { step: positive(amountOf(validRange.step)) }),
  };
  return {
    value: full,
    default: fallback === undefined ? full : amountOf(fallback),
    ...(validValues && { validValues: validValues.map(amountOf).sort((a, b) => (a < b ? -1 : 1)) }),
    ...(range && { range }),
  };
}

function positive(step: bigint): bigint {
  if (step <= 0n) throw new AmountError('a step is not positive');
  return step;
}

/** Returns the nodes of a selection, or undefined if the selection is not valid. */
export function placeOf({ nodeName, nodeSelector, allNodes }: NodeSelection): DevicePlace | undefined {
  const given = [nodeName, nodeSelector, allNodes || undefined].filter((each) => each !== undefined);
  if (given.length !== 1) return undefined;
  if (nodeName !== undefined) return nodeName === '' ? undefined : { kind: 'node', name: nodeName };
  if (nodeSelector === undefined) return { kind: 'everywhere' };
  const [term, ...more] = nodeSelector.nodeSelectorTerms;
  if (term === undefined || more.length > 0) return undefined;
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchFields.some(({ key }) => key !== 'metadata.name')) return undefined;
  return {
    kind: 'nodes',
    requirements: Requirements.fromRequirements(matchExpressions),
    names: matchFields.map(({ operator, values }) => ValueSet.of(operator, values)),
  };
}

export const NO_RUNTIME: ReadonlyMap<string, RuntimeValue> = new Map();

/** @throws {AmountError} if an amount is not valid */
export const countersOf = (device: Device): readonly CounterUse[] =>
  (device.consumesCounters ?? []).flatMap(({ counterSet, counters }) =>
    Object.entries(counters ?? {}).map(([counter, { value }]) => ({
      counter: counterKey(counterSet, counter),
      amount: amountOf(value),
    })),
  );
