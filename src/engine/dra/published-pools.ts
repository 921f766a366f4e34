/** Pools that drivers published, and the pools that a node can reach. */
import type { DeviceTaintRule, ResourceSlice } from '#api/objects';
import { compareText } from '../instance-types.ts';
import { LOOSE, type Requirements, STRICT } from '../requirements.ts';
import { type DevicePool, publishedPool } from './device-pool.ts';
import { DeviceLooks, type DevicePlace, type PoolDevice } from './pool-device.ts';

/** Existing or new node. */
export interface NodePlace {
  /** Undefined for a new node. */
  readonly nodeName: string | undefined;
  readonly requirements: Requirements;
}

/** Pool with the devices that a node can use. */
export interface ReachablePool {
  readonly pool: DevicePool;
  readonly devices: readonly PoolDevice[];
  /** Reason why the pool provides no devices, with the id of the pool. */
  readonly defect: string | undefined;
}

/** Returns true if a node at this place can use devices of the other place. */
export function reaches({ nodeName, requirements }: NodePlace, place: DevicePlace): boolean {
  if (place.kind === 'everywhere') return true;
  if (place.kind === 'node') return place.name === nodeName;
  if (place.names.some((names) => nodeName === undefined || !names.has(nodeName))) return false;
  // a label that an existing node does not have stays absent
  return requirements.compatible(place.requirements, nodeName === undefined ? LOOSE : STRICT);
}

export class PublishedPools {
  readonly #byKey = new Map<string, DevicePool>();
  /** Pools with only devices of one node. */
  readonly #local = new Map<string, DevicePool[]>();
  readonly #wide: DevicePool[] = [];
  readonly #reachable = new Map<string, readonly ReachablePool[]>();

  constructor(slices: readonly ResourceSlice[], rules: readonly DeviceTaintRule[]) {
    const context = { looks: new DeviceLooks(), rules };
    const byPool = Map.groupBy(slices, ({ spec }) => poolKey(spec.driver, spec.pool.name));
    for (const [key, own] of byPool) {
      const pool = publishedPool(own, context);
      this.#byKey.set(key, pool);
      const node = nodeOf(pool);
      if (node === undefined) this.#wide.push(pool);
      else this.#local.set(node, [...(this.#local.get(node) ?? []), pool]);
    }
  }

  /** True if several nodes can reach the devices of a pool. */
  get hasWide(): boolean {
    return this.#wide.length > 0;
  }

  get all(): readonly DevicePool[] {
    return [...this.#byKey.values()];
  }

  /** Returns the pool of a driver, also if no node can reach it. */
  pool(driver: string, name: string): DevicePool | undefined {
    return this.#byKey.get(poolKey(driver, name));
  }

  /** Returns the pools that a node can reach, in the order of kube-scheduler. */
  reachableFrom(place: NodePlace): readonly ReachablePool[] {
    const local = (place.nodeName !== undefined && this.#local.get(place.nodeName)) || [];
    if (this.#wide.length === 0 && local.length === 0) return [];
    const id = `${place.nodeName ?? ''} ${this.#wide.length === 0 ? '' : place.requirements.identity}`;
    let known = this.#reachable.get(id);
    if (known === undefined) {
      const pools = [...local, ...this.#wide].flatMap((pool) => reachablePart(pool, place) ?? []);
      known = pools.sort((a, b) => comparePools(a.pool, b.pool));
      this.#reachable.set(id, known);
    }
    return known;
  }
}

const poolKey = (driver: string, name: string): string => JSON.stringify([driver, name]);

/** Returns the only node that can use the pool, or undefined. */
function nodeOf({ slices }: DevicePool): string | undefined {
  const [first] = slices;
  if (first?.place?.kind !== 'node') return undefined;
  const { name } = first.place;
  return slices.every(({ place }) => place?.kind === 'node' && place.name === name) ? name : undefined;
}

export const comparePools = (a: DevicePool, b: DevicePool): number =>
  Number(a.bindsLate) - Number(b.bindsLate) || compareText(a.driver, b.driver) || compareText(a.name, b.name);

const hasDuplicates = (devices: readonly PoolDevice[]): boolean =>
  new Set(devices.map(({ key }) => key)).size < devices.length;

/** Returns the part of a pool that a node can use, or undefined if there is none. */
function reachablePart(pool: DevicePool, place: NodePlace): ReachablePool | undefined {
  const near = pool.slices.filter((slice) =>
    slice.place === undefined
      ? slice.devices.some((device) => reaches(place, device.place))
      : reaches(place, slice.place),
  );
  if (near.length === 0) return undefined;
  const id = `pool ${pool.driver}/${pool.name}`;
  if (pool.defect !== undefined) return { pool, devices: [], defect: `${id} ${pool.defect.text}` };
  const devices = pool.devices.filter((device) => reaches(place, device.place));
  const isAmbiguous = pool.hasDuplicates && hasDuplicates(near.flatMap((slice) => slice.devices));
  return isAmbiguous
    ? { pool, devices: [], defect: `${id} is invalid (duplicate device names)` }
    : { pool, devices, defect: undefined };
}
