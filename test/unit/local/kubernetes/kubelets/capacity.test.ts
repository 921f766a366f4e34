import { describe, expect, it } from '@jest/globals';
import { devices, kubeletResources } from '../../../../../src/local/kubernetes/kubelets/capacity.ts';
import { type KubeletConfig, NO_CONFIG } from '../../../../../src/local/kubernetes/kubelets/userdata/config.ts';
import { hardware, instance } from './fixtures.ts';

const offered = (config: Partial<KubeletConfig> = {}, type: Parameters<typeof hardware>[0] = {}, more: object = {}) =>
  kubeletResources(
    instance({ hardware: hardware(type), ...more }),
    { ...NO_CONFIG, ...config },
    { memoryOverhead: 0.075 },
  );

describe('resourcesOf', () => {
  it('subtracts overhead and reservations like EKS images on an m5.large', () => {
    const { capacity, allocatable } = offered();
    expect(capacity).toMatchObject({ cpu: '2', memory: `${7577 * 1024}Ki`, pods: '29' });
    expect(allocatable).toMatchObject({ cpu: '1930m', memory: `${6903 * 1024}Ki`, pods: '29' });
    expect(allocatable['ephemeral-storage']).toBe('18253611008');
  });

  it.each<[string, Partial<KubeletConfig>, object]>([
    ['max pods', { maxPods: 8 }, { pods: '8' }],
    ['pods per core', { podsPerCore: 3 }, { pods: '6' }],
    [
      'kube reserved',
      { kubeReserved: { cpu: '1', memory: '1Gi' } },
      { cpu: '1', memory: `${(7577 - 1024 - 100) * 1024}Ki` },
    ],
    ['system reserved', { systemReserved: { cpu: '30m' } }, { cpu: '1900m' }],
    [
      'an eviction threshold',
      { evictionHard: { 'memory.available': '500Mi' } },
      { memory: `${(7577 - 574 - 500) * 1024}Ki` },
    ],
    ['no eviction threshold', { evictionHard: { 'memory.available': '100%' } }, { memory: `${(7577 - 574) * 1024}Ki` }],
  ])('follows %s', (_, config, expected) => {
    expect(offered(config).allocatable).toMatchObject(expected);
  });

  it('reserves huge pages from memory', () => {
    const { capacity, allocatable } = offered({ hugePages: { '2Mi': 512, '1Gi': 2 } });
    const pages = { 'hugepages-2Mi': '1024Mi', 'hugepages-1Gi': '2Gi' };
    expect(capacity).toMatchObject({ memory: `${7577 * 1024}Ki`, ...pages });
    expect(allocatable).toMatchObject({ memory: `${(6903 - 3072) * 1024}Ki`, ...pages });
  });

  it('includes local disks in a RAID', () => {
    const { capacity } = offered({ raid0: true }, { diskGb: 100 });
    expect(capacity['ephemeral-storage']).toBe(`${Math.floor(100e9 / 1024)}Ki`);
  });

  it('subtracts the memory that Graviton reserves', () => {
    const { capacity } = offered({}, { memoryMib: 2048 }, { architecture: 'arm64' });
    expect(capacity.memory).toBe(`${1835 * 1024}Ki`);
  });
});

describe('a device', () => {
  it('is named like that of the device plugin', () => {
    const gpus = { GpuInfo: { Gpus: [{ Manufacturer: 'NVIDIA', Count: 4 }] } };
    const neurons = { NeuronInfo: { NeuronDevices: [{ Count: 2, CoreInfo: { Count: 4 } }] } };
    const of = (more: object): unknown => devices(instance({ hardware: { ...hardware(), ...more } }));
    expect(of(gpus)).toEqual({ 'nvidia.com/gpu': '4' });
    expect(of(neurons)).toEqual({
      'aws.amazon.com/neuron': '2',
      'aws.amazon.com/neuroncore': '8',
    });
    expect(of({})).toEqual({});
  });

  it('includes the interfaces of an Elastic Fabric Adapter', () => {
    const interfaces = [{ type: 'interface' }, { type: 'efa' }, { type: 'efa-only' }];
    expect(devices(instance({ interfaces }))).toEqual({ 'vpc.amazonaws.com/efa': '2' });
  });
});
