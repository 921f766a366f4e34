/**
 * Devices of new nodes, learned from slices of running nodes of the same NodePool and instance type. Values that identify one
 * node are dropped; devices that have equal values keep this relation.
 */
import type { Device, DeviceAttribute, DeviceTaint, ResourceSlice } from '#api/objects';
import { compareText } from '../instance-types.ts';
import type { DriverTemplate, RuntimeValues } from './driver-template.ts';
import { qualifiedName } from './pool-device.ts';

/** Complete slices of one driver on one node. */
export interface DeviceSample {
  readonly slices: readonly ResourceSlice[];
}

/** Attributes that identify a device or depend on the node, by name or by name with domain. */
const RUNTIME = new Set([
  ...['uuid', 'parentUUID', 'serial', 'driverVersion', 'cudaDriverVersion', 'neuronDriverVersion', 'draDriverVersion'],
  ...['networkNodeLayer1', 'networkNodeLayer2', 'networkNodeLayer3', 'capacityBlockId'],
  ...['resource.kubernetes.io/pciBusID', 'resource.kubernetes.io/pcieRoot'],
  ...['ifName', 'mac', 'ipv4', 'ipv6', 'alias', 'state', 'pciAddress', 'rdmaDevice', 'mtu'].map(
    (name) => `dra.net/${name}`,
  ),
]);
const DEVICE_GROUP = /^resource\.aws\.com\/devicegroup.*_id$/;

const isRuntime = (full: string, driver: string): boolean =>
  RUNTIME.has(full) ||
  DEVICE_GROUP.test(full) ||
  (full.startsWith(`${driver}/`) && RUNTIME.has(full.slice(driver.length + 1)));

/** Slices of a pool in a sample, by the position of the pool. */
interface SamplePool {
  readonly devices: ReadonlyMap<string, Device>;
  readonly slices: readonly ResourceSlice[];
}

/** Returns true if two samples have the same pools, devices, capacities and counters. */
export const haveSameShape = (a: DeviceSample, b: DeviceSample): boolean => shapeOf(a) === shapeOf(b);

const shapeOf = (sample: DeviceSample): string =>
  JSON.stringify(
    poolsOf(sample).map(({ devices, slices }) => [
      [...devices.values()]
        .sort((x, y) => compareText(x.name, y.name))
        .map(({ name, capacity, consumesCounters }) => [name, capacity, consumesCounters]),
      slices.flatMap(({ spec }) => spec.sharedCounters ?? []),
    ]),
  );

function poolsOf({ slices }: DeviceSample): readonly SamplePool[] {
  const byPool = [...Map.groupBy(slices, ({ spec }) => spec.pool.name)].sort(([a], [b]) => compareText(a, b));
  return byPool.map(([, own]) => ({
    slices: own.toSorted((a, b) => compareText(a.metadata.name, b.metadata.name)),
    devices: new Map(own.flatMap(({ spec }) => (spec.devices ?? []).map((device) => [device.name, device] as const))),
  }));
}

/** Returns the template of a driver. @param samples newest first, with the shape of the first */
export function learnedTemplate(driver: string, samples: readonly [DeviceSample, ...DeviceSample[]]): DriverTemplate {
  const all = samples.map(poolsOf);
  const [first = [], ...others] = all;
  const groups = new Map<string, Map<string, string>>();
  const pools = first.map(({ slices, devices }, at) => ({
    pool: `${driver}/${at}`,
    sharedCounters: slices.flatMap(({ spec }) => spec.sharedCounters ?? []),
    devices: [...devices.values()].map((device) => {
      const like = others.flatMap((each) => each[at]?.devices.get(device.name) ?? []);
      return staticDevice(device, like, { driver, groups });
    }),
  }));
  const runtime = [...groups].map(
    ([attribute, byDevice]): RuntimeValues => ({
      attribute,
      groups: byDevice,
      areDisjoint: true,
    }),
  );
  return { driver, source: 'learned', pools, runtime };
}

interface LearnContext {
  readonly driver: string;
  /** Value by device, by attribute. */
  readonly groups: Map<string, Map<string, string>>;
}

function staticDevice(device: Device, like: readonly Device[], { driver, groups }: LearnContext): Device {
  const { nodeName: _, nodeSelector: __, allNodes: ___, attributes = {}, taints, ...rest } = device;
  const kept: Record<string, DeviceAttribute> = {};
  for (const [name, value] of Object.entries(attributes)) {
    const full = qualifiedName(name, driver);
    const text = JSON.stringify(value);
    const differs = like.some((other) => JSON.stringify(other.attributes?.[name]) !== text);
    if (!differs && !isRuntime(full, driver)) kept[name] = value;
    else groups.set(full, (groups.get(full) ?? new Map<string, string>()).set(device.name, text));
  }
  const common =
    like.length === 0 ? [] : (taints ?? []).filter((taint) => like.every((other) => hasTaint(other, taint)));
  return { ...rest, attributes: kept, ...(common.length > 0 && { taints: common }) };
}

const hasTaint = ({ taints = [] }: Device, { key, value, effect }: DeviceTaint): boolean =>
  taints.some((taint) => taint.key === key && taint.value === value && taint.effect === effect);
