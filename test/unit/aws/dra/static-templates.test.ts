import { describe, expect, it } from '@jest/globals';
import { GPU_LAYOUTS } from '#api/devices';
import type { ResourceClaim } from '#api/objects';
import { combinedTemplates, type DeviceTemplates, templatePools } from '#engine/devices';
import { type GpuSharing, gpuSharing, staticTemplates } from '../../../../src/aws/dra/static-templates.ts';
import { instanceType } from '../../engine/build.ts';
import { claim, deviceClass, newNode, request, selecting, world } from '../../engine/dra/build.ts';

const BOTH = { nvidia: true, efa: true, neuron: false };

function templatesOf(name: string, sharing: GpuSharing = 'disabled', drivers = BOTH): DeviceTemplates {
  const layout = GPU_LAYOUTS.get(name);
  const capacity = { 'nvidia.com/gpu': layout?.count ?? 0, 'vpc.amazonaws.com/efa': layout?.efa?.count ?? 0 };
  return combinedTemplates(staticTemplates(instanceType(name, { capacity }), { drivers, sharing }));
}

const classes = [
  deviceClass('gpu', "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"),
  deviceClass(
    'efa',
    "device.driver == 'dra.net' && device.attributes['dra.net'].pciDevice == 'Elastic Fabric Adapter (EFA)'",
  ),
];
const typesFor = (wanted: ResourceClaim, ...names: readonly string[]): readonly string[] => {
  const types = Object.fromEntries(names.map((name) => [name, templatesOf(name)]));
  const placed = world({ classes }).place([wanted], newNode(types));
  return typeof placed === 'string' ? [] : Object.keys(placed);
};
const neuronOf = (name: string, count: number): DeviceTemplates =>
  combinedTemplates(
    staticTemplates(instanceType(name, { capacity: { 'aws.amazon.com/neuron': count } }), {
      drivers: { nvidia: false, efa: false, neuron: true },
      sharing: 'disabled',
    }),
  );
const PCIE = [{ matchAttribute: 'resource.kubernetes.io/pcieRoot' }];

describe('a static template', () => {
  it.each([...GPU_LAYOUTS.keys()])('is valid for %s, with the devices of EC2', (name) => {
    const pools = templatePools(templatesOf(name));
    const { count, efa } = GPU_LAYOUTS.get(name) ?? { count: 0 };
    expect(pools.map(({ defect }) => defect)).toEqual(pools.map(() => undefined));
    const counts = new Map(pools.map(({ driver, devices }) => [driver, devices.length]));
    expect(counts).toEqual(new Map([...(efa ? [['dra.net', efa.count] as const] : []), ['gpu.nvidia.com', count]]));
  });

  it('exists only for a driver with an enabled gate', () => {
    const driversOf = (drivers: typeof BOTH) =>
      templatesOf('p5.48xlarge', 'disabled', drivers).pools.map(({ driver }) => driver);
    expect(driversOf({ ...BOTH, efa: false })).toEqual(['gpu.nvidia.com']);
    expect(driversOf({ ...BOTH, nvidia: false })).toEqual(['dra.net']);
    expect(driversOf({ ...BOTH, nvidia: false, efa: false })).toEqual([]);
  });

  it('does not exist for other types, and for types whose devices differ from the table', () => {
    const parts = { drivers: BOTH, sharing: 'disabled' } as const;
    expect(staticTemplates(instanceType('m5.large'), parts)).toEqual([]);
    const odd = instanceType('p5.48xlarge', { capacity: { 'nvidia.com/gpu': 4, 'vpc.amazonaws.com/efa': 32 } });
    expect(staticTemplates(odd, parts)).toEqual([]);
    const few = instanceType('p5.48xlarge', { capacity: { 'nvidia.com/gpu': 8, 'vpc.amazonaws.com/efa': 2 } });
    expect(staticTemplates(few, parts).map(({ driver }) => driver)).toEqual(['gpu.nvidia.com']);
  });

  it('aligns GPUs with the EFA interfaces of their PCIe root', () => {
    const pair = claim([request('gpu'), request('efa', { deviceClassName: 'efa' })], { constraints: PCIE });
    expect(typesFor(pair, 'g6.12xlarge', 'p5.48xlarge', 'p4d.24xlarge')).toEqual(['p5.48xlarge', 'p4d.24xlarge']);
    const four = claim([request('gpu'), request('efa', { deviceClassName: 'efa', count: 4 })], { constraints: PCIE });
    expect(typesFor(four, 'p5.48xlarge', 'p4d.24xlarge', 'p6-b200.48xlarge')).toEqual(['p5.48xlarge']);
    const all = claim([request('gpu'), request('efa', { deviceClassName: 'efa', allocationMode: 'All' })], {
      constraints: PCIE,
    });
    expect(typesFor(all, 'p5.48xlarge')).toEqual([]);
    const gpus = claim([request('gpu', { count: 2 })], { constraints: PCIE });
    expect(typesFor(gpus, 'g5.12xlarge', 'g6.12xlarge', 'p4d.24xlarge', 'p5en.48xlarge')).toEqual([
      ...['g5.12xlarge', 'p4d.24xlarge', 'p5en.48xlarge'],
    ]);
    expect(typesFor(claim([request('gpu')], { constraints: PCIE }), 'g6.xlarge', 'g6f.xlarge')).toEqual(['g6.xlarge']);
  });

  it('selects models by attributes', () => {
    const hopper = claim([
      request('gpu', selecting("device.attributes['gpu.nvidia.com'].?architecture.orValue('') == 'Hopper'")),
    ]);
    expect(typesFor(hopper, 'g6.xlarge', 'p5.48xlarge', 'g6f.xlarge')).toEqual(['p5.48xlarge']);
    const large = claim([
      request('gpu', selecting("device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0")),
    ]);
    expect(typesFor(large, 'g6.xlarge', 'g6e.xlarge')).toEqual(['g6e.xlarge']);
  });

  it.each<[string | undefined, GpuSharing | undefined]>([
    [undefined, 'disabled'],
    ['', 'disabled'],
    ['memory', 'memory'],
    ['unlimited', 'unlimited'],
    ['4', 4],
    ['0', undefined],
    ['-1', undefined],
    ['many', undefined],
  ])('shares GPUs by the annotation %p', (text, sharing) => {
    expect(gpuSharing(text)).toBe(sharing);
  });

  it.each<[GpuSharing, string | undefined, number]>([
    ['disabled', undefined, 1],
    ['memory', undefined, 1],
    ['memory', '11517Mi', 2],
    ['unlimited', '1Gi', 22],
    [4, undefined, 4],
  ])('holds as many claims as %p permits', (sharing, memory, times) => {
    const cluster = world({ classes });
    const on = newNode({ t: templatesOf('g6.xlarge', sharing) });
    const wanted = (at: number) =>
      claim([request('gpu', memory === undefined ? {} : { capacity: { requests: { memory } } })], { name: `c${at}` });
    let placed = 0;
    while (placed < 50 && typeof cluster.place([wanted(placed)], on) !== 'string') placed++;
    expect(placed).toBe(times);
  });
});

describe('a template of Neuron devices', () => {
  const neuron = deviceClass('gpu', "device.driver == 'neuron.aws.com'");
  const placed = (wanted: ResourceClaim, types: Readonly<Record<string, DeviceTemplates>>) =>
    world({ classes: [neuron] }).place([wanted], newNode(types));

  it('has the number of devices that EC2 reports', () => {
    expect(neuronOf('inf2.24xlarge', 6).pools).toMatchObject([{ driver: 'neuron.aws.com', devices: { length: 6 } }]);
    const wanted = claim([
      request('r', { count: 2, ...selecting("device.attributes['neuron.aws.com'].instanceType == 'inf2.24xlarge'") }),
    ]);
    expect(placed(wanted, { a: neuronOf('inf2.24xlarge', 6), b: neuronOf('trn1.2xlarge', 1) })).toEqual({
      a: ['r=neuron-device-0', 'r=neuron-device-1'],
    });
  });

  it.each([
    ['m5.large', 0],
    ['inf1.xlarge', 1],
    ['trn2u.48xlarge', 16],
  ])('does not exist for %s', (name, count) => {
    expect(neuronOf(name, count).pools).toEqual([]);
  });

  it.each([
    [4, 4, true],
    [4, 5, false],
    [8, 8, true],
    [16, 16, true],
    [1, 1, true],
    [1, 2, false],
  ])('keeps a claim in a group of %d devices: %d devices', (size, count, isPossible) => {
    const constraints = [{ matchAttribute: `resource.aws.com/devicegroup${size}_id` }];
    const result = placed(claim([request('r', { count })], { constraints }), { t: neuronOf('trn2.48xlarge', 16) });
    expect(typeof result === 'object').toBe(isPossible);
  });
});
