/**
 * Pools of devices. A driver replaces a pool by a higher generation, and describes it with a number of slices. A pool is used
 * only if all its slices are known and consistent.
 */
import type { CounterSet, Device, DeviceTaint, DeviceTaintRule, ResourceSlice } from '#api/objects';
import { messageOf, tryRun } from '#lib';
import { compareText } from '../instance-types.ts';
import { amountOf } from './exact-amounts.ts';
import {
  counterKey,
  countersOf,
  type DeviceLooks,
  type DevicePlace,
  deviceKey,
  NO_RUNTIME,
  type PoolDevice,
  placeOf,
} from './pool-device.ts';
import { listFault } from './slice-faults.ts';

/** Reason why a pool provides no devices. */
export interface PoolDefect {
  readonly kind: 'incomplete' | 'invalid';
  readonly text: string;
}

const INCOMPLETE: PoolDefect = { kind: 'incomplete', text: 'is incomplete (missing slices)' };
const invalid = (cause: string): PoolDefect => ({ kind: 'invalid', text: `is invalid (${cause})` });

/** Slice of the highest generation. */
export interface PoolSlice {
  /** Undefined if each device has its own place. */
  readonly place: DevicePlace | undefined;
  readonly devices: readonly PoolDevice[];
}

export interface DevicePool {
  readonly driver: string;
  readonly name: string;
  readonly slices: readonly PoolSlice[];
  readonly devices: readonly PoolDevice[];
  /** Amounts by counter. */
  readonly counters: ReadonlyMap<string, bigint>;
  /** Devices that consume counters. */
  readonly consumers: readonly PoolDevice[];
  readonly defect: PoolDefect | undefined;
  /** True if a name occurs twice. Such a pool is invalid for candidates that reach both devices. */
  readonly hasDuplicates: boolean;
  /** True if a device is ready to use only after its allocation. Such pools are tried last. */
  readonly bindsLate: boolean;
}

interface PoolParts {
  readonly driver: string;
  readonly name: string;
  readonly slices: readonly PoolSlice[];
  readonly sharedCounters: readonly CounterSet[];
  readonly defect: PoolDefect | undefined;
}

/** Creates a pool. A violation makes it invalid. */
export function poolOf({ driver, name, slices, sharedCounters, defect }: PoolParts): DevicePool {
  const devices = slices.flatMap((slice) => slice.devices);
  const counters = new Map<string, bigint>();
  let fault = defect;
  for (const set of sharedCounters)
    for (const [counter, { value }] of Object.entries(set.counters ?? {})) {
      const key = counterKey(set.name, counter);
      if (counters.has(key)) fault ??= invalid('duplicate counter sets');
      counters.set(key, amountOf(value));
    }
  const consumers = devices.filter(({ consumes }) => consumes.length > 0);
  if (consumers.some(({ consumes }) => consumes.some(({ counter }) => !counters.has(counter))))
    fault ??= invalid('a device consumes an unknown counter');
  return {
    driver,
    name,
    slices,
    devices,
    counters,
    consumers,
    defect: fault,
    hasDuplicates: new Set(devices.map(({ key }) => key)).size < devices.length,
    bindsLate: devices.some(({ bindsLate }) => bindsLate),
  };
}

/** Parts of a pool that all its devices share. */
export interface DeviceSource {
  readonly driver: string;
  readonly pool: string;
  readonly isTemplate: boolean;
  readonly looks: DeviceLooks;
  readonly rules: readonly DeviceTaintRule[];
}

/** @throws {AmountError} if an amount is not valid */
export function poolDevice(
  device: Device,
  place: DevicePlace,
  { driver, pool, isTemplate, looks, rules }: DeviceSource,
  runtime: PoolDevice['runtime'] = NO_RUNTIME,
): PoolDevice {
  const look = looks.of(driver, device);
  const taints = [...(device.taints ?? []), ...taintsOf(rules, driver, pool, device.name)];
  return {
    key: deviceKey(driver, pool, device.name),
    driver,
    pool,
    name: device.name,
    look,
    taints,
    place,
    isTemplate,
    consumes: countersOf(device),
    runtime,
    bindsLate: (device.bindingConditions ?? []).length > 0,
    likeness: JSON.stringify([
      ...[driver, pool, isTemplate, look.isShared, placeText(place), taints],
      ...[device.attributes, device.capacity, device.consumesCounters],
    ]),
  };
}

const placeText = (place: DevicePlace): string =>
  place.kind === 'nodes'
    ? `${place.requirements.identity} ${place.names.map(({ identity }) => identity)}`
    : `${place.kind} ${place.kind === 'node' ? place.name : ''}`;

const taintsOf = (
  rules: readonly DeviceTaintRule[],
  driver: string,
  pool: string,
  name: string,
): readonly DeviceTaint[] =>
  rules.flatMap(({ spec: { deviceSelector = {}, taint } }) => {
    const { driver: onDriver = driver, pool: inPool = pool, device = name } = deviceSelector;
    return onDriver === driver && inPool === pool && device === name ? [taint] : [];
  });

interface PoolContext {
  readonly looks: DeviceLooks;
  readonly rules: readonly DeviceTaintRule[];
}

/** Returns the pool that slices of one driver and pool name describe. */
export function publishedPool(all: readonly ResourceSlice[], { looks, rules }: PoolContext): DevicePool {
  const [{ spec: first }] = all as readonly [ResourceSlice, ...ResourceSlice[]];
  const { driver, pool } = first;
  const generation = all.reduce((most, { spec }) => Math.max(most, spec.pool.generation), Number.NEGATIVE_INFINITY);
  const latest = all
    .filter(({ spec }) => spec.pool.generation === generation)
    .sort((a, b) => compareText(a.metadata.name, b.metadata.name));
  const isComplete = latest.every(({ spec }) => spec.pool.resourceSliceCount === latest.length);
  const parts = { driver, name: pool.name, defect: isComplete ? undefined : INCOMPLETE };
  const source = { driver, pool: pool.name, isTemplate: false, looks, rules };
  try {
    const slices = latest.map((slice) => publishedSlice(slice, source));
    const sharedCounters = latest.flatMap(({ spec }) => spec.sharedCounters ?? []);
    return poolOf({ ...parts, slices, sharedCounters });
  } catch (error) {
    const slices = latest.map(({ spec }) => ({ place: validPlace(spec) ?? EVERYWHERE, devices: [] }));
    return poolOf({ ...parts, slices, sharedCounters: [], defect: invalid(messageOf(error)) });
  }
}

const EVERYWHERE: DevicePlace = { kind: 'everywhere' };

const validPlace = (spec: ResourceSlice['spec']): DevicePlace | undefined => tryRun(() => placeOf(spec));

/** A slice is not valid. */
class SliceError extends Error {}

function publishedSlice({ spec }: ResourceSlice, source: DeviceSource): PoolSlice {
  const { devices = [], sharedCounters = [], perDeviceNodeSelection = false } = spec;
  const fault = listFault({ driver: source.driver, pool: source.pool, devices, sharedCounters });
  if (fault !== undefined) throw new SliceError(fault);
  const place = perDeviceNodeSelection ? undefined : placeOf(spec);
  if (!perDeviceNodeSelection && place === undefined)
    throw new SliceError('the slice must select nodes in exactly one way');
  return { place, devices: devices.map((device) => poolDevice(device, place ?? ownPlace(device), source)) };
}

function ownPlace(device: Device): DevicePlace {
  const place = placeOf(device);
  if (place === undefined) throw new SliceError('a device must select nodes in exactly one way');
  return place;
}
