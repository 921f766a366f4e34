/** Labels of instance types, as requirements. Every well-known label is defined on every type. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import {
  ARCH_LABEL,
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_ACCELERATOR_COUNT_LABEL,
  INSTANCE_ACCELERATOR_MANUFACTURER_LABEL,
  INSTANCE_ACCELERATOR_NAME_LABEL,
  INSTANCE_CAPABILITY_FLEX_LABEL,
  INSTANCE_CATEGORY_LABEL,
  INSTANCE_CPU_CLOCK_LABEL,
  INSTANCE_CPU_LABEL,
  INSTANCE_CPU_MANUFACTURER_LABEL,
  INSTANCE_EBS_BANDWIDTH_LABEL,
  INSTANCE_ENCRYPTION_IN_TRANSIT_LABEL,
  INSTANCE_FAMILY_LABEL,
  INSTANCE_GENERATION_LABEL,
  INSTANCE_GPU_COUNT_LABEL,
  INSTANCE_GPU_MANUFACTURER_LABEL,
  INSTANCE_GPU_MEMORY_LABEL,
  INSTANCE_GPU_NAME_LABEL,
  INSTANCE_HYPERVISOR_LABEL,
  INSTANCE_LOCAL_NVME_LABEL,
  INSTANCE_MEMORY_LABEL,
  INSTANCE_NETWORK_BANDWIDTH_LABEL,
  INSTANCE_SIZE_LABEL,
  INSTANCE_TENANCY_LABEL,
  INSTANCE_TYPE_LABEL,
  NITRO_SANDBOX_LABEL,
  OS_LABEL,
  REGION_LABEL,
  WINDOWS_BUILD_LABEL,
  ZONE_ID_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import type { Requirement } from '#engine/model';
import { type AmiFamily, isWindows } from '../amis/families.ts';
import type { CapacityReservation } from '../reservations/reservations.ts';
import type { Zone } from '../subnets/zones.ts';

interface LabelContext {
  readonly region: string;
  readonly family: AmiFamily;
  /** Zones of the NodeClass. */
  readonly zones: readonly Zone[];
  /** Zones in which AWS offers the type. */
  readonly offeredIn: ReadonlySet<string>;
  /** Reservations of the NodeClass for this type. */
  readonly reservations: readonly CapacityReservation[];
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: 'amd64', arm64: 'arm64' };
const FAMILY_PARTS = /^([a-z]+)(-[0-9]+tb)?([0-9]+)(?:[^0-9.][^.]*)?\./;

const normalize = (text: string | undefined): string => (text ?? '').toLowerCase().replaceAll(' ', '-');

/** Returns a requirement for a single value, or DoesNotExist if it is undefined. An empty text is a value. */
const is = (key: string, value: string | number | boolean | undefined): Requirement =>
  value === undefined ? { key, operator: 'DoesNotExist' } : { key, operator: 'In', values: [String(value)] };

const oneOf = (key: string, values: readonly string[]): Requirement =>
  values.length === 0 ? { key, operator: 'DoesNotExist' } : { key, operator: 'In', values: [...new Set(values)] };

/** Returns the architecture of the type, as named by Kubernetes. */
export function architectureOf(info: InstanceTypeInfo): string {
  const supported = info.ProcessorInfo?.SupportedArchitectures ?? [];
  const known = supported.find((each) => ARCHITECTURES[each] !== undefined);
  return known === undefined ? `[${supported.join(' ')}]` : (ARCHITECTURES[known] ?? known);
}

function nameLabels(name: string): readonly Requirement[] {
  const parts = FAMILY_PARTS.exec(name);
  const [family, size, ...rest] = name.split('.');
  const split = size !== undefined && rest.length === 0;
  return [
    is(INSTANCE_CATEGORY_LABEL, parts?.[1]),
    is(INSTANCE_GENERATION_LABEL, parts?.[3]),
    is(INSTANCE_FAMILY_LABEL, split ? family : undefined),
    is(INSTANCE_SIZE_LABEL, split ? size : undefined),
    is(INSTANCE_CAPABILITY_FLEX_LABEL, (family ?? '').includes('-flex')),
  ];
}

function processorLabels(info: InstanceTypeInfo): readonly Requirement[] {
  const processor = info.ProcessorInfo;
  const clock = processor?.SustainedClockSpeedInGhz;
  return [
    is(INSTANCE_CPU_LABEL, info.VCpuInfo?.DefaultVCpus ?? 0),
    is(INSTANCE_CPU_MANUFACTURER_LABEL, processor === undefined ? undefined : normalize(processor.Manufacturer)),
    is(INSTANCE_CPU_CLOCK_LABEL, processor === undefined ? undefined : Math.round((clock ?? 0) * 1000)),
    is(INSTANCE_MEMORY_LABEL, info.MemoryInfo?.SizeInMiB ?? 0),
  ];
}

function gpuLabels(info: InstanceTypeInfo): readonly Requirement[] {
  const gpus = info.GpuInfo?.Gpus ?? [];
  const gpu = gpus.length === 1 ? gpus[0] : undefined;
  const value = <T>(of: T | undefined): T | undefined => (gpu === undefined ? undefined : of);
  return [
    is(INSTANCE_GPU_NAME_LABEL, value(normalize(gpu?.Name))),
    is(INSTANCE_GPU_MANUFACTURER_LABEL, value(normalize(gpu?.Manufacturer))),
    is(INSTANCE_GPU_COUNT_LABEL, value(gpu?.Count ?? 0)),
    is(INSTANCE_GPU_MEMORY_LABEL, value(gpu?.MemoryInfo?.SizeInMiB ?? 0)),
  ];
}

function acceleratorLabels(info: InstanceTypeInfo): readonly Requirement[] {
  const inference = info.InferenceAcceleratorInfo?.Accelerators ?? [];
  const neuron = info.NeuronInfo?.NeuronDevices ?? [];
  let name: string | undefined;
  let manufacturer: string | undefined;
  let count: number | undefined;
  if (info.NeuronInfo === undefined && inference.length === 1) {
    name = normalize(inference[0]?.Name);
    manufacturer = normalize(inference[0]?.Manufacturer);
    count = inference[0]?.Count ?? 0;
  } else if (neuron.length === 1) {
    name = normalize(neuron[0]?.Name);
    manufacturer = 'aws';
    count = neuron[0]?.Count ?? 0;
  }
  return [
    is(INSTANCE_ACCELERATOR_NAME_LABEL, name),
    is(INSTANCE_ACCELERATOR_MANUFACTURER_LABEL, manufacturer),
    is(INSTANCE_ACCELERATOR_COUNT_LABEL, count),
  ];
}

function storageLabels(info: InstanceTypeInfo): readonly Requirement[] {
  const storage = info.InstanceStorageInfo;
  const nvme = storage !== undefined && storage.NvmeSupport !== 'unsupported' ? storage.TotalSizeInGB : undefined;
  const ebs = info.EbsInfo?.EbsOptimizedSupport === 'default' ? info.EbsInfo.EbsOptimizedInfo : undefined;
  return [
    is(INSTANCE_LOCAL_NVME_LABEL, nvme),
    is(INSTANCE_EBS_BANDWIDTH_LABEL, ebs === undefined ? undefined : (ebs.MaximumBandwidthInMbps ?? 0)),
    is(INSTANCE_NETWORK_BANDWIDTH_LABEL, networkBandwidthMbps(info)),
  ];
}

function operatingSystem(info: InstanceTypeInfo, family: AmiFamily): readonly Requirement[] {
  if (!isWindows(family)) return [is(OS_LABEL, 'linux'), is(WINDOWS_BUILD_LABEL, undefined)];
  // Windows images exist only for amd64. On other architectures, the type matches no operating system.
  const os: Requirement =
    architectureOf(info) === 'amd64' ? is(OS_LABEL, 'windows') : { key: OS_LABEL, operator: 'In', values: [] };
  return [os, is(WINDOWS_BUILD_LABEL, family.windowsBuild)];
}

function zoneLabels({ zones, offeredIn }: LabelContext): readonly Requirement[] {
  const usable = zones.filter((zone) => offeredIn.has(zone.name));
  const ids = usable.map((zone) => zone.id).filter((id) => id !== '');
  return [
    oneOf(
      ZONE_LABEL,
      usable.map((zone) => zone.name),
    ),
    oneOf(ZONE_ID_LABEL, ids),
  ];
}

function capacityLabels(info: InstanceTypeInfo, { reservations }: LabelContext): readonly Requirement[] {
  const classes = (info.SupportedUsageClasses ?? []).filter((each) => each === 'on-demand' || each === 'spot');
  return [
    oneOf(CAPACITY_TYPE_LABEL, reservations.length > 0 ? [...classes, 'reserved'] : classes),
    oneOf(
      CAPACITY_RESERVATION_ID_LABEL,
      reservations.map((each) => each.id),
    ),
    oneOf(
      CAPACITY_RESERVATION_TYPE_LABEL,
      reservations.map((each) => each.reservationType ?? 'default'),
    ),
    oneOf(
      CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
      reservations.map((each) => String(each.interruptible ?? false)),
    ),
  ];
}

/** Returns every label of a type for a NodeClass. */
export function typeRequirements(info: InstanceTypeInfo, context: LabelContext): readonly Requirement[] {
  const name = info.InstanceType ?? '';
  return [
    is(INSTANCE_TYPE_LABEL, name),
    is(ARCH_LABEL, architectureOf(info)),
    is(REGION_LABEL, context.region),
    ...operatingSystem(info, context.family),
    ...zoneLabels(context),
    ...capacityLabels(info, context),
    ...nameLabels(name),
    ...processorLabels(info),
    ...gpuLabels(info),
    ...acceleratorLabels(info),
    ...storageLabels(info),
    is(INSTANCE_HYPERVISOR_LABEL, info.Hypervisor ?? ''),
    is(INSTANCE_ENCRYPTION_IN_TRANSIT_LABEL, info.NetworkInfo?.EncryptionInTransitSupported ?? false),
    is(NITRO_SANDBOX_LABEL, info.NitroEnclavesSupport === 'supported'),
    oneOf(INSTANCE_TENANCY_LABEL, ['default', 'dedicated']),
  ];
}

/** Old families without a guaranteed network baseline. AWS describes their performance as low, moderate or high. */
const UNRATED = new Set(['c1', 'c3', 'c4', 'cc2', 'cr1', 'd2', 'g2', 'hs1', 'i2', 'm1', 'm2', 'm3', 'r3', 't1']);

/** Largest sizes with two network cards. EC2 lists the combined bandwidth for each of the cards. */
const SHARED = /^[cmr]6id?n\.(32xlarge|metal)$/;
const SHARED_MBPS = 200_000;

/** Returns the baseline network bandwidth of all cards, in Mbps. */
export function networkBandwidthMbps(info: InstanceTypeInfo): number | undefined {
  const name = info.InstanceType ?? '';
  const family = name.split('.')[0] ?? '';
  if (UNRATED.has(family)) return undefined;
  if (SHARED.test(name)) return SHARED_MBPS;
  const gbps = (info.NetworkInfo?.NetworkCards ?? []).reduce(
    (sum, card) => sum + (card.BaselineBandwidthInGbps ?? 0),
    0,
  );
  // Truncated instead of rounded, because AWS publishes 1.5625 Gbps as 1562 Mbps.
  return gbps > 0 ? Math.floor(gbps * 1000 + 1e-6) : undefined;
}
