/** Compiles the devices of nodes that do not exist yet. */

import { connected, messageOf, remembering } from '#lib';
import { type DevicePool, poolDevice, poolOf } from './device-pool.ts';
import { DeviceLooks, type DevicePlace, deviceKey, qualifiedName, type RuntimeValue } from './pool-device.ts';
import { comparePools } from './published-pools.ts';
import { listFault } from './slice-faults.ts';
import type { DeviceTemplates, PoolTemplate, RuntimeAttribute } from './template-types.ts';

const ON_NODE: DevicePlace = { kind: 'node', name: '' };
const looks = new DeviceLooks();

/** Returns the pools of a new node. A pool that is not valid provides no devices. */
export const templatePools = remembering(({ pools, runtime = [] }: DeviceTemplates): readonly DevicePool[] => {
  const values = runtimeValues(pools, runtime);
  return pools.map((template) => compiledPool(template, values)).sort(comparePools);
});

/** Returns the pools of a new node without the pools of suspended drivers. */
export const offeredPools = remembering((templates: DeviceTemplates): readonly DevicePool[] => {
  const pools = templatePools(templates);
  const suspended = new Set((templates.suspended ?? []).map(({ driver }) => driver));
  return suspended.size === 0 ? pools : pools.filter(({ driver }) => !suspended.has(driver));
});

type RuntimeByDevice = ReadonlyMap<string, Map<string, RuntimeValue>>;

function compiledPool(template: PoolTemplate, values: RuntimeByDevice): DevicePool {
  const { driver, pool, devices, sharedCounters = [] } = template;
  const parts = { driver, name: pool, sharedCounters, defect: undefined };
  const fault = listFault({ driver, pool, devices, sharedCounters });
  if (fault !== undefined) return withoutDevices(template, fault);
  const source = { driver, pool, isTemplate: true, looks, rules: [] };
  try {
    const compiled = devices.map((device) => {
      const own = new Map(values.get(deviceKey(driver, pool, device.name)));
      for (const name of Object.keys(device.attributes ?? {})) own.delete(qualifiedName(name, driver));
      const made = poolDevice(device, ON_NODE, source, own);
      return own.size === 0 ? made : { ...made, likeness: `${made.likeness} ${runtimeText(own)}` };
    });
    return poolOf({ ...parts, slices: [{ place: ON_NODE, devices: compiled }] });
  } catch (error) {
    return withoutDevices(template, messageOf(error));
  }
}

const withoutDevices = ({ driver, pool }: PoolTemplate, cause: string): DevicePool =>
  poolOf({
    driver,
    name: pool,
    slices: [],
    sharedCounters: [],
    defect: { kind: 'invalid', text: `is invalid (${cause})` },
  });

/** Numbers of groups in texts. */
const groupIds = new WeakMap<object, number>();
let groupCount = 0;

function runtimeText(values: ReadonlyMap<string, RuntimeValue>): string {
  const texts = [...values].map(([name, { group, isDistinct }]) => {
    const id = groupIds.get(group) ?? groupCount++;
    groupIds.set(group, id);
    // a device with a value of its own differs from no other device with a value of its own
    return [name, group instanceof OwnValue ? 'own' : id, isDistinct];
  });
  return JSON.stringify(texts);
}

/** Group of one device. */
class OwnValue {}

function runtimeValues(pools: readonly PoolTemplate[], runtime: readonly RuntimeAttribute[]): RuntimeByDevice {
  const values = new Map<string, Map<string, RuntimeValue>>();
  const put = (key: string, attribute: string, value: RuntimeValue): void => {
    const own = values.get(key) ?? new Map<string, RuntimeValue>();
    values.set(key, own.set(attribute, value));
  };
  for (const each of runtime)
    if ('unique' in each)
      for (const { driver, pool, devices } of pools.filter((one) => one.driver === each.driver))
        for (const { name } of devices)
          put(deviceKey(driver, pool, name), qualifiedName(each.attribute, driver), {
            group: new OwnValue(),
            isDistinct: true,
          });
  for (const [attribute, declared] of Map.groupBy(runtime.flatMap(groupsOf), ({ name }) => name))
    for (const members of connected(declared.map(({ keys }) => keys))) {
      const isDistinct = declared.every(({ disjoint }) => disjoint);
      const group = members.length > 1 ? {} : new OwnValue();
      for (const key of members) put(key, attribute, { group, isDistinct });
    }
  return values;
}

interface DeclaredGroup {
  readonly name: string;
  readonly keys: readonly string[];
  readonly disjoint: boolean;
}

const groupsOf = (runtime: RuntimeAttribute): readonly DeclaredGroup[] =>
  'unique' in runtime
    ? []
    : runtime.same.flatMap((group) => {
        const [first] = group;
        if (first === undefined) return [];
        const keys = group.map(({ driver, pool, device }) => deviceKey(driver, pool, device));
        return [{ name: qualifiedName(runtime.attribute, first.driver), keys, disjoint: runtime.disjoint ?? false }];
      });
