/** Compares the devices that a node published with the template for which it was launched. */
import type { ResourceSlice } from '#api/objects';
import type { DevicePool } from './device-pool.ts';
import { templatePools } from './device-templates.ts';
import type { PoolDevice } from './pool-device.ts';
import { PublishedPools } from './published-pools.ts';
import type { DeviceTemplates } from './template-types.ts';

/** Returns the number of devices of a driver that a template promises and the node did not publish. */
export function missingDevices(templates: DeviceTemplates, driver: string, slices: readonly ResourceSlice[]): number {
  const published = new PublishedPools(slices, []).all.filter((pool) => pool.defect === undefined).flatMap(devicesOf);
  const promised = templatePools(templates)
    .filter((pool) => pool.driver === driver)
    .flatMap(devicesOf);
  const left = new Set(published.filter((device) => device.driver === driver));
  let missing = 0;
  for (const device of promised) {
    const candidates = [...left].filter((other) => isAtLeast(other, device));
    const found = candidates.find(({ name }) => name === device.name) ?? candidates[0];
    if (found === undefined) missing++;
    else left.delete(found);
  }
  return missing;
}

const devicesOf = ({ devices }: DevicePool): readonly PoolDevice[] => devices;

/** Returns true if a device has all static attributes and capacities of a promised device. */
function isAtLeast({ look }: PoolDevice, promised: PoolDevice): boolean {
  for (const [name, values] of promised.look.attributes) {
    const own = look.attributes.get(name);
    if (own === undefined || !values.isSubsetOf(own)) return false;
  }
  for (const [name, { value }] of promised.look.capacity)
    if ((look.capacity.get(name)?.value ?? -1n) < value) return false;
  return look.isShared === promised.look.isShared;
}
