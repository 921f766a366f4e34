/** Creates the DescribeInstanceTypes entry of a size of a family. */
import type { _InstanceType, EbsInfo, InstanceTypeInfo, NetworkInfo } from '@aws-sdk/client-ec2';
import type { Family } from './families.ts';
import { bandwidthMbps, enisOf } from './network.ts';
import {
  apiName,
  comparableSize,
  diskGbOf,
  generationOf,
  isArm,
  isBurstable,
  isMetal,
  memoryMiBOf,
  threadsPerCore,
  vcpusOf,
} from './sizes.ts';

const isFlex = (family: Family): boolean => family.name.includes('-flex');

export function instanceTypeInfo(family: Family, size: string): InstanceTypeInfo {
  const vcpus = vcpusOf(family, size);
  const threads = threadsPerCore(family);
  const metal = isMetal(size);
  return {
    InstanceType: apiName(family, size) as _InstanceType,
    CurrentGeneration: !family.xen,
    FreeTierEligible: ['t3.micro', 't4g.small'].includes(apiName(family, size)),
    SupportedUsageClasses: ['on-demand', 'spot'],
    SupportedRootDeviceTypes: ['ebs'],
    SupportedVirtualizationTypes: ['hvm'],
    BareMetal: metal,
    // bare metal has no hypervisor, so the member is absent
    ...(metal ? {} : { Hypervisor: family.xen ? 'xen' : 'nitro' }),
    ProcessorInfo: {
      SupportedArchitectures: [isArm(family) ? 'arm64' : 'x86_64'],
      SustainedClockSpeedInGhz: family.clockGhz,
      Manufacturer: family.maker,
      ...(/^[cmr][78]i/.test(family.name) && !metal ? { SupportedFeatures: ['nested-virtualization'] } : {}),
    },
    VCpuInfo: { DefaultVCpus: vcpus, DefaultCores: Math.ceil(vcpus / threads), DefaultThreadsPerCore: threads },
    MemoryInfo: { SizeInMiB: memoryMiBOf(family, size) },
    ...storageInfo(family, size),
    EbsInfo: ebsInfo(family, size),
    NetworkInfo: networkInfo(family, size),
    ...gpuInfo(family, size),
    ...neuronInfo(family, size),
    PlacementGroupInfo: {
      SupportedStrategies:
        isBurstable(family) || isFlex(family) ? ['partition', 'spread'] : ['cluster', 'partition', 'spread'],
    },
    HibernationSupported: !metal && !isArm(family),
    BurstablePerformanceSupported: isBurstable(family),
    DedicatedHostsSupported: !isBurstable(family) && !isFlex(family),
    AutoRecoverySupported: !metal && diskGbOf(family, size) === 0,
    SupportedBootModes: isArm(family) ? ['uefi'] : family.xen || metal ? ['legacy-bios'] : ['legacy-bios', 'uefi'],
    NitroEnclavesSupport: enclaves(family, size) ? 'supported' : 'unsupported',
    NitroTpmSupport: metal || family.xen ? 'unsupported' : 'supported',
  };
}

function storageInfo(family: Family, size: string): Partial<InstanceTypeInfo> {
  const gigabytes = diskGbOf(family, size);
  if (gigabytes === 0) return { InstanceStorageSupported: false };
  const isNvme = family.disk !== 'hdd';
  return {
    InstanceStorageSupported: true,
    InstanceStorageInfo: {
      TotalSizeInGB: gigabytes,
      Disks: [{ SizeInGB: gigabytes, Count: 1, Type: isNvme ? 'ssd' : 'hdd' }],
      NvmeSupport: 'required',
      EncryptionSupport: 'required',
    },
  };
}

/** Steps of the maximum EBS bandwidth in Mbit/s, by xlarge units. */
const EBS_MODERN: readonly (readonly [number, number])[] = [
  [8, 10_000],
  [12, 15_000],
  [16, 20_000],
  [24, 30_000],
  [Number.POSITIVE_INFINITY, 40_000],
];
const EBS_OLDER: readonly (readonly [number, number])[] = [
  [4, 4750],
  [8, 6800],
  [12, 9500],
  [16, 13_600],
  [Number.POSITIVE_INFINITY, 19_000],
];

function ebsInfo(family: Family, size: string): EbsInfo {
  const units = comparableSize(family, size);
  const older = generationOf(family) <= 5 || /^([cmr]6g|x2g)/.test(family.name);
  const steps =
    family.bandwidth === '6in' && units >= 32
      ? [[Number.POSITIVE_INFINITY, 100_000] as const]
      : older
        ? EBS_OLDER
        : EBS_MODERN;
  const maximum = isBurstable(family) ? 2780 : (steps.find(([bound]) => units <= bound)?.[1] ?? 0);
  const baseline = Math.min(maximum, Math.max(315, Math.round(units * (older ? 1150 : 1250))));
  return {
    EbsOptimizedSupport: 'default',
    EncryptionSupport: 'supported',
    EbsOptimizedInfo: {
      BaselineBandwidthInMbps: baseline,
      BaselineThroughputInMBps: baseline / 8,
      BaselineIops: Math.round(baseline * 5),
      MaximumBandwidthInMbps: maximum,
      MaximumThroughputInMBps: maximum / 8,
      MaximumIops: Math.round(maximum * 4),
    },
    NvmeSupport: family.xen ? 'unsupported' : 'required',
    ...attachments(family, size),
  };
}

/** Attachments that only volumes use, by xlarge units. */
const DEDICATED: readonly (readonly [number, number])[] = [
  [12, 32],
  [16, 48],
  [24, 64],
  [32, 88],
  [Number.POSITIVE_INFINITY, 128],
];
/** Attachments that volumes and network interfaces share. */
const SHARED = { virtual: 27, metal: 31 };

/** Returns the limit of attachments as EC2 reports it. Local disks and accelerators reduce a shared limit. */
function attachments(family: Family, size: string): Pick<EbsInfo, 'MaximumEbsAttachments' | 'AttachmentLimitType'> {
  const units = comparableSize(family, size);
  // a dedicated limit, although EC2 reports a shared limit
  if (/^metal-/.test(size)) return { MaximumEbsAttachments: units > 24 ? 79 : 39, AttachmentLimitType: 'shared' };
  if (isMetal(size)) return { MaximumEbsAttachments: SHARED.metal, AttachmentLimitType: 'shared' };
  if (generationOf(family) >= 7) {
    const most = DEDICATED.find(([bound]) => units <= bound)?.[1] ?? 0;
    return { MaximumEbsAttachments: most, AttachmentLimitType: 'dedicated' };
  }
  const disks = !family.xen && diskGbOf(family, size) > 0 ? 1 : 0;
  const devices =
    (family.gpu ? (family.gpu.counts?.[size] ?? 1) : 0) + (family.neuron ? (family.neuron.counts[size] ?? 1) : 0);
  return { MaximumEbsAttachments: Math.max(3, SHARED.virtual - disks - devices), AttachmentLimitType: 'shared' };
}

function networkInfo(family: Family, size: string): NetworkInfo {
  const [interfaces, addresses] = enisOf(family, size);
  const cards = family.cards?.[size]?.[0] ?? 1;
  const efa = family.efa?.[size] ?? 0;
  const gbps = bandwidthMbps(family, size) / 1000;
  const perCard = gbps / cards;
  const isSteady = comparableSize(family, size) >= 8;
  const peak = isSteady ? perCard : Math.max(perCard, isBurstable(family) ? 5 : generationOf(family) >= 6 ? 12.5 : 10);
  const performance = isSteady ? `${Math.round(perCard)} Gigabit` : `Up to ${peak} Gigabit`;
  return {
    NetworkPerformance: cards > 1 ? `${cards}x ${performance}` : performance,
    MaximumNetworkInterfaces: interfaces * cards,
    MaximumNetworkCards: cards,
    DefaultNetworkCardIndex: 0,
    NetworkCards: Array.from({ length: cards }, (_, index) => ({
      NetworkCardIndex: index,
      NetworkPerformance: performance,
      MaximumNetworkInterfaces: interfaces,
      BaselineBandwidthInGbps: perCard,
      PeakBandwidthInGbps: peak,
    })),
    Ipv4AddressesPerInterface: addresses,
    Ipv6AddressesPerInterface: addresses,
    Ipv6Supported: true,
    EnaSupport: family.xen ? 'supported' : 'required',
    EfaSupported: efa > 0,
    ...(efa > 0 ? { EfaInfo: { MaximumEfaInterfaces: efa } } : {}),
    EncryptionInTransitSupported: encryptsInTransit(family),
  };
}

/**
 * Returns true for `n` types, x86 of generation 6 and later, Graviton of generation 7 and later, and recent
 * accelerators.
 */
function encryptsInTransit(family: Family): boolean {
  if (isBurstable(family)) return false;
  if (/^(g4dn|g5$|g6|p4|p5|inf|trn)/.test(family.name) || /\d[a-z]*n$/.test(family.name)) return true;
  return generationOf(family) >= (isArm(family) ? 7 : 6);
}

/**
 * Returns true if the size supports Nitro Enclaves: a virtual Nitro machine with at least four vCPUs, or two with one
 * thread per core.
 */
const enclaves = (family: Family, size: string): boolean =>
  !isMetal(size) &&
  !family.xen &&
  !isBurstable(family) &&
  vcpusOf(family, size) >= (threadsPerCore(family) === 1 ? 2 : 4);

function gpuInfo({ gpu }: Family, size: string): Partial<InstanceTypeInfo> {
  if (!gpu) return {};
  const count = gpu.counts?.[size] ?? 1;
  return {
    GpuInfo: {
      Gpus: [{ Name: gpu.name, Manufacturer: gpu.maker, Count: count, MemoryInfo: { SizeInMiB: gpu.memoryMiB } }],
      TotalGpuMemoryInMiB: gpu.memoryMiB * count,
    },
  };
}

function neuronInfo({ neuron }: Family, size: string): Partial<InstanceTypeInfo> {
  if (!neuron) return {};
  const count = neuron.counts[size] ?? 1;
  const memory = { SizeInMiB: neuron.memoryMiB };
  const isInferentia = neuron.name.startsWith('Inferentia');
  const total = neuron.memoryMiB * count;
  return {
    NeuronInfo: {
      NeuronDevices: [
        { Count: count, Name: neuron.name, CoreInfo: { Count: neuron.coresPerDevice, Version: 2 }, MemoryInfo: memory },
      ],
      TotalNeuronDeviceMemoryInMiB: total,
    },
    ...(isInferentia
      ? {
          InferenceAcceleratorInfo: {
            Accelerators: [{ Count: count, Name: neuron.name, Manufacturer: 'AWS', MemoryInfo: memory }],
            TotalInferenceMemoryInMiB: total,
          },
        }
      : {}),
  };
}
