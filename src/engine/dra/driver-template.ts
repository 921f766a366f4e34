/** Devices of one driver on new nodes, and the combination of several drivers to the devices of an instance type. */
import { qualifiedName } from './pool-device.ts';
import type { DeviceTemplates, PoolTemplate, RuntimeAttribute, TemplateDeviceRef } from './template-types.ts';

/** Attribute whose values exist only on a running node, with placeholders for its values. */
export interface RuntimeValues {
  readonly attribute: string;
  /** Each device of the driver has a value of its own. */
  readonly isUnique?: boolean;
  /** Placeholder by device. Devices with the same placeholder have the same value, also devices of other drivers. */
  readonly groups?: ReadonlyMap<string, string>;
  /** True if different placeholders are different values. */
  readonly areDisjoint?: boolean;
}

export interface DriverTemplate {
  readonly driver: string;
  /** Templates of the same source can have groups in common. */
  readonly source: string;
  readonly pools: readonly Omit<PoolTemplate, 'driver'>[];
  readonly runtime: readonly RuntimeValues[];
}

interface Member extends TemplateDeviceRef {
  readonly isDisjoint: boolean;
}

/** Returns the devices of all drivers. */
export function combinedTemplates(drivers: readonly DriverTemplate[]): DeviceTemplates {
  const pools = drivers.flatMap(({ driver, pools: own }) => own.map((pool) => ({ ...pool, driver })));
  const unique = drivers.flatMap(({ driver, runtime }) =>
    runtime.flatMap(({ attribute, isUnique }) => (isUnique ? [{ attribute, driver, unique: true as const }] : [])),
  );
  return { pools, runtime: [...unique, ...groupsOf(drivers)] };
}

function groupsOf(drivers: readonly DriverTemplate[]): readonly RuntimeAttribute[] {
  const attributes = new Map<string, Map<string, Member[]>>();
  for (const { driver, source, pools, runtime } of drivers)
    for (const { attribute, groups = new Map(), areDisjoint = false } of runtime) {
      const name = qualifiedName(attribute, driver);
      const byGroup = attributes.get(name) ?? new Map<string, Member[]>();
      attributes.set(name, byGroup);
      for (const { pool, devices } of pools)
        for (const { name: device } of devices) {
          const group = groups.get(device);
          if (group === undefined) continue;
          const id = JSON.stringify([source, group]);
          byGroup.set(id, [...(byGroup.get(id) ?? []), { driver, pool, device, isDisjoint: areDisjoint }]);
        }
    }
  return [...attributes].map(([attribute, byGroup]) => {
    const same = [...byGroup.values()];
    return { attribute, same, disjoint: same.flat().every(({ isDisjoint }) => isDisjoint) };
  });
}
