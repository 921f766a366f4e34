import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ruleBuiltCatalogue, SPOT_STEP_MS } from '../../../../src/local/aws/catalogue/catalogue.ts';
import { standardZones } from '../../../../src/local/aws/open-account.ts';

const zones = standardZones('us-west-2');
const catalogue = ruleBuiltCatalogue(zones, 1);
const info = (name: string): InstanceTypeInfo => {
  const found = catalogue.types.find((each) => each.InstanceType === name);
  if (!found) throw new Error(`${name} is not in the catalogue`);
  return found;
};

describe('the generated catalogue', () => {
  it('has several hundred types of many families and every kind of hardware', () => {
    const families = new Set(catalogue.types.map((each) => each.InstanceType?.split('.')[0]));
    expect(catalogue.types.length).toBeGreaterThan(300);
    expect(families.size).toBeGreaterThan(50);
    expect(new Set(catalogue.types.map((each) => each.InstanceType)).size).toBe(catalogue.types.length);
    for (const has of [
      (each: InstanceTypeInfo) => each.ProcessorInfo?.SupportedArchitectures?.includes('arm64'),
      (each: InstanceTypeInfo) => each.GpuInfo?.Gpus?.some((gpu) => gpu.Manufacturer === 'NVIDIA'),
      (each: InstanceTypeInfo) => each.NeuronInfo?.NeuronDevices?.some((device) => device.Name === 'Trainium'),
      (each: InstanceTypeInfo) => each.InferenceAcceleratorInfo !== undefined,
      (each: InstanceTypeInfo) => each.InstanceStorageInfo?.Disks?.some((disk) => disk.Type === 'ssd'),
      (each: InstanceTypeInfo) => each.InstanceType?.includes('-flex'),
      (each: InstanceTypeInfo) => (each.NetworkInfo?.EfaInfo?.MaximumEfaInterfaces ?? 0) > 0,
      (each: InstanceTypeInfo) => each.BareMetal && each.Hypervisor === undefined,
    ]) {
      expect(catalogue.types.some((each) => has(each))).toBe(true);
    }
  });

  it.each([
    { type: 'm5.large', vcpus: 2, mib: 8192, enis: 3, addresses: 10, usd: 0.096 },
    { type: 't3.small', vcpus: 2, mib: 2048, enis: 3, addresses: 4, usd: 0.0208 },
    { type: 't3a.small', vcpus: 2, mib: 2048, enis: 2, addresses: 4, usd: 0.0188 },
    { type: 'c6g.large', vcpus: 2, mib: 4096, enis: 3, addresses: 10, usd: 0.068 },
    { type: 'm5.metal', vcpus: 96, mib: 393216, enis: 15, addresses: 50, usd: 4.608 },
    { type: 'c5n.18xlarge', vcpus: 72, mib: 196608, enis: 15, addresses: 50, usd: 3.888 },
    { type: 'm8i.4xlarge', vcpus: 16, mib: 65536, enis: 8, addresses: 50, usd: 0.84672 },
    { type: 'g5.12xlarge', vcpus: 48, mib: 196608, enis: 15, addresses: 50, usd: 5.672 },
    { type: 'p4d.24xlarge', vcpus: 96, mib: 1179648, enis: 15, addresses: 50, usd: 21.957642 },
    { type: 'm7i.metal-24xl', vcpus: 96, mib: 393216, enis: 15, addresses: 50, usd: 5.32224 },
  ])('contains $type', ({ type, vcpus, mib, enis, addresses, usd }) => {
    const found = info(type);
    expect(found.VCpuInfo?.DefaultVCpus).toBe(vcpus);
    expect(found.MemoryInfo?.SizeInMiB).toBe(mib);
    expect(found.NetworkInfo?.NetworkCards?.[0]?.MaximumNetworkInterfaces).toBe(enis);
    expect(found.NetworkInfo?.Ipv4AddressesPerInterface).toBe(addresses);
    expect(catalogue.onDemandUsd(type)).toBeCloseTo(usd, 5);
  });

  it.each([
    { type: 'm6id.2xlarge', gigabytes: 474 },
    { type: 'm6id.32xlarge', gigabytes: 7600 },
    { type: 'g4dn.8xlarge', gigabytes: 900 },
    { type: 'p5.48xlarge', gigabytes: 30400 },
    { type: 'i4i.xlarge', gigabytes: 937 },
    { type: 'm5.large', gigabytes: undefined },
  ])('has $gigabytes GB of local disks for $type', ({ type, gigabytes }) => {
    expect(info(type).InstanceStorageInfo?.TotalSizeInGB).toBe(gigabytes);
  });

  it.each([
    { type: 'p4d.24xlarge', cards: 4, efa: 4 },
    { type: 'p5.48xlarge', cards: 32, efa: 32 },
    { type: 'm6in.32xlarge', cards: 2, efa: 2 },
    { type: 'g4dn.8xlarge', cards: 1, efa: 1 },
    { type: 'm5.large', cards: 1, efa: undefined },
  ])('has $cards network cards and $efa EFA interfaces for $type', ({ type, cards, efa }) => {
    expect(info(type).NetworkInfo?.MaximumNetworkCards).toBe(cards);
    expect(info(type).NetworkInfo?.EfaInfo?.MaximumEfaInterfaces).toBe(efa);
  });

  it('has only integer counts and sizes, and finite figures', () => {
    const figures = (value: unknown, path: string): [string, number][] => {
      if (typeof value === 'number') return [[path, value]];
      if (typeof value !== 'object' || value === null) return [];
      return Object.entries(value).flatMap(([key, item]) => figures(item, `${path}.${key}`));
    };
    const fractions = /Gbps|Ghz|MBps/;
    const all = catalogue.types.flatMap((each) => figures(each, String(each.InstanceType)));
    expect(all.filter(([, value]) => !Number.isFinite(value) || value < 0)).toEqual([]);
    expect(all.filter(([path, value]) => !fractions.test(path) && !Number.isInteger(value))).toEqual([]);
  });

  it('offers the main families in every zone and omits some families in a zone', () => {
    expect(catalogue.zonesOf('m5.large')).toEqual(zones.map((zone) => zone.name));
    expect(catalogue.zonesOf('p5.48xlarge')).toEqual(['us-west-2a', 'us-west-2c']);
    expect(catalogue.zonesOf('z9.large')).toEqual([]);
  });

  it('has spot prices below on-demand that differ by zone and are reproducible by seed', () => {
    const types = catalogue.types.map((each) => String(each.InstanceType));
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.constantFrom(...zones), fc.nat(10_000), (type, zone, step) => {
        const at = step * SPOT_STEP_MS;
        const spot = catalogue.spotUsd(type, zone.name, at);
        expect(ruleBuiltCatalogue(zones, 1).spotUsd(type, zone.name, at + 1)).toBe(spot);
        if (spot === undefined) return;
        const share = spot / Number(catalogue.onDemandUsd(type));
        expect(share).toBeGreaterThan(0.2);
        expect(share).toBeLessThan(0.6);
      }),
      { numRuns: 30 },
    );
    const prices = zones.map((zone) => catalogue.spotUsd('m5.large', zone.name, 0));
    expect(new Set(prices).size).toBe(3);
    expect(ruleBuiltCatalogue(zones, 2).spotUsd('m5.large', 'us-west-2a', 0)).not.toBe(prices[0]);
  });
});
