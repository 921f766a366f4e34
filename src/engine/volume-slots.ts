/**
 * Counts the volumes on nodes by the rules of kube-scheduler, and predicts how many volumes a new node can attach. The
 * prediction of the provider is lowered to the values that CSI drivers report on existing nodes of the same instance type.
 */
import { type CSINode, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL } from '#api/objects';
import { own, remembering } from '#lib';
import type { EngineNode, InstanceType, PoolInput } from './model.ts';
import type { VolumeLimits, VolumesByDriver } from './volume-limits.ts';

/** Slots for volumes on an existing node. */
export class VolumeSlots {
  readonly #used = new Map<string, ReadonlySet<string>>();
  readonly #limits: VolumeLimits;

  /** @param running volumes that are in use on the node, for each pod or attachment */
  constructor(limits: VolumeLimits, running: readonly VolumesByDriver[]) {
    this.#limits = limits;
    for (const volumes of running) this.take(volumes);
  }

  copy(): VolumeSlots {
    const copy = new VolumeSlots(this.#limits, []);
    for (const [driver, used] of this.#used) copy.#used.set(driver, used);
    return copy;
  }

  hasRoomFor(volumes: VolumesByDriver): boolean {
    for (const [driver, wanted] of volumes) {
      const limit = own(this.#limits, driver);
      if (limit !== undefined && (this.#used.get(driver) ?? new Set()).union(wanted).size > limit) return false;
    }
    return true;
  }

  take(volumes: VolumesByDriver): void {
    for (const [driver, taken] of volumes) this.#used.set(driver, (this.#used.get(driver) ?? new Set()).union(taken));
  }
}

/** Returns the limits that the drivers of a node report. */
const limitsInReport = remembering(
  ({ spec }: CSINode): VolumeLimits =>
    Object.fromEntries(
      (spec.drivers ?? []).flatMap(({ name, allocatable }) =>
        allocatable?.count === undefined ? [] : [[name, allocatable.count] as const],
      ),
    ),
);

/**
 * Returns the limits of a node. kube-scheduler knows no limit of a driver that reports none. Before the node is initialized, its
 * drivers may not have started, so the prediction for its instance type completes the limits.
 */
export function limitsOn(node: EngineNode, predicted: (node: EngineNode) => VolumeLimits): VolumeLimits {
  const reported = node.csiNode === undefined ? NO_LIMITS : limitsInReport(node.csiNode);
  return node.initialized ? reported : completeLimits(node, reported, predicted(node));
}

const NO_LIMITS: VolumeLimits = {};

const completeLimits = remembering(
  ({ csiNode }: EngineNode, reported: VolumeLimits, predicted: VolumeLimits): VolumeLimits => {
    const started = new Set(csiNode?.spec.drivers?.map(({ name }) => name));
    const missing = Object.entries(predicted).filter(([driver]) => !started.has(driver));
    return missing.length === 0 ? reported : { ...reported, ...Object.fromEntries(missing) };
  },
);

/** Returns a function that returns the prediction for the instance type of a node. */
export function predictionIn(pools: readonly PoolInput[]): (node: EngineNode) => VolumeLimits {
  const byPool = new Map(pools.map(({ nodePool, instanceTypes }) => [nodePool.metadata.name, instanceTypes]));
  return ({ labels }) => {
    const types = byPool.get(own(labels, NODEPOOL_LABEL) ?? '');
    const type = types && typesByName(types).get(own(labels, INSTANCE_TYPE_LABEL) ?? '');
    return type?.volumeLimits ?? NO_LIMITS;
  };
}

const typesByName = remembering(
  (types: readonly InstanceType[]): ReadonlyMap<string, InstanceType> =>
    new Map(types.map((type) => [type.name, type])),
);

/**
 * Returns the NodePools with predictions that are not higher than the reports of existing nodes. At least half of the nodes of
 * an instance type must report a value, so that a single node does not lower the prediction while other nodes report more.
 */
export function withReportedLimits(pools: readonly PoolInput[], nodes: readonly EngineNode[]): readonly PoolInput[] {
  const reports = new Map<string, number[]>();
  for (const { csiNode, labels } of nodes) {
    if (csiNode === undefined) continue;
    const type = own(labels, INSTANCE_TYPE_LABEL);
    for (const [driver, count] of Object.entries(limitsInReport(csiNode))) {
      if (type === undefined || count < 1) continue;
      const key = `${type} ${driver}`;
      const counts = reports.get(key);
      if (counts === undefined) reports.set(key, [count]);
      else counts.push(count);
    }
  }
  if (reports.size === 0) return pools;
  const reported = new Map([...reports].map(([key, counts]) => [key, lowerMedian(counts)]));
  const lists = pools.map(({ instanceTypes }) => lowerLimits(instanceTypes, reported));
  return lists.every((list, at) => list === pools[at]?.instanceTypes)
    ? pools
    : pools.map((pool, at) => ({ ...pool, instanceTypes: lists[at] ?? pool.instanceTypes }));
}

const lowerMedian = (counts: readonly number[]): number =>
  counts.toSorted((a, b) => a - b)[Math.ceil(counts.length / 2) - 1] ?? 0;

/** Last lowered form of each list, because compiled forms are cached by list. */
const loweredLists = new WeakMap<
  readonly InstanceType[],
  { readonly id: string; readonly list: readonly InstanceType[] }
>();

function lowerLimits(types: readonly InstanceType[], reported: ReadonlyMap<string, number>): readonly InstanceType[] {
  const changes = new Map<string, VolumeLimits>();
  for (const { name, volumeLimits = {} } of types) {
    const lower = Object.entries(volumeLimits).flatMap(([driver, most]) => {
      const count = reported.get(`${name} ${driver}`);
      return count !== undefined && count < most ? [[driver, count] as const] : [];
    });
    if (lower.length > 0) changes.set(name, { ...volumeLimits, ...Object.fromEntries(lower) });
  }
  if (changes.size === 0) return types;
  const id = JSON.stringify([...changes]);
  const known = loweredLists.get(types);
  if (known?.id === id) return known.list;
  const list = types.map((type) => {
    const volumeLimits = changes.get(type.name);
    return volumeLimits === undefined ? type : { ...type, volumeLimits };
  });
  loweredLists.set(types, { id, list });
  return list;
}
