/** What an instance of a type has, in canonical units: milli-cores, bytes, counts. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import { parseQuantity } from '../../api/quantity.ts';
import type { Resources } from '../../engine/model.ts';
import { type AmiFamily, isWindows } from '../amis/families.ts';
import { BRANCH_INTERFACES } from './branchinterfacetable.ts';
import { architectureOf } from './labels.ts';

export const EFA_RESOURCE = 'vpc.amazonaws.com/efa';
const POD_ENI_RESOURCE = 'vpc.amazonaws.com/pod-eni';
const PRIVATE_IPV4_RESOURCE = 'vpc.amazonaws.com/PrivateIPv4Address';
export const NITRO_SANDBOX_RESOURCE = 'eks.amazonaws.com/nitro-sandbox';
const NEURON_RESOURCE = 'aws.amazon.com/neuron';
const NEURON_CORE_RESOURCE = 'aws.amazon.com/neuroncore';
const GPU_RESOURCES = { NVIDIA: 'nvidia.com/gpu', AMD: 'amd.com/gpu', Habana: 'habana.ai/gaudi' } as const;
/** Resources that make a type special, so that pods without need of them stay off it. */
export const EXOTIC_RESOURCES: readonly string[] = [
  NEURON_RESOURCE,
  NEURON_CORE_RESOURCE,
  ...Object.values(GPU_RESOURCES),
];

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const GB = 1e9;
/** Graviton instances keep this much for contiguous memory allocation. */
const ARM_RESERVED_MIB = 64;
const DEFAULT_STORAGE = 20 * GIB;

/** An estimate of what the operating system will report, in bytes; `overheadPercent` is a fraction. */
export function estimatedMemory(info: InstanceTypeInfo, overheadPercent: number): number {
  const isArm = info.ProcessorInfo?.SupportedArchitectures?.[0] === 'arm64';
  const mib = (info.MemoryInfo?.SizeInMiB ?? 0) - (isArm ? ARM_RESERVED_MIB : 0);
  const overheadMib = Math.ceil((mib * MIB * overheadPercent) / 1024 / 1024);
  return (mib - overheadMib) * MIB;
}

/** Bytes that the kubelet's root can hold. */
export function ephemeralStorage(info: InstanceTypeInfo, nodeClass: EC2NodeClass, family: AmiFamily): number {
  const { blockDeviceMappings: mappings = [], instanceStorePolicy } = nodeClass.spec;
  const local = info.InstanceStorageInfo?.TotalSizeInGB;
  if (instanceStorePolicy === 'RAID0' && local !== undefined) return local * GB;
  const sizeOf = (mapping: (typeof mappings)[number] | undefined): number | undefined =>
    mapping?.ebs?.volumeSize === undefined ? undefined : parseQuantity(mapping.ebs.volumeSize);

  const root = sizeOf(mappings.find((each) => each.rootVolume === true));
  if (root !== undefined) return root;
  // Custom images don't say which device is which; users list the root last.
  if (family.name === 'Custom') return sizeOf(mappings.at(-1)) ?? DEFAULT_STORAGE;
  const own = sizeOf(mappings.find((each) => each.deviceName === family.ephemeralDevice));
  if (own !== undefined) return own;
  const fallback = family.blockDevices.find((each) => each.deviceName === family.ephemeralDevice);
  return fallback === undefined ? DEFAULT_STORAGE : parseQuantity(fallback.size);
}

function gpus(info: InstanceTypeInfo, manufacturer: string): number {
  const matching = (info.GpuInfo?.Gpus ?? []).filter((gpu) => gpu.Manufacturer === manufacturer);
  return matching.reduce((sum, gpu) => sum + (gpu.Count ?? 0), 0);
}

function efaInterfaces(info: InstanceTypeInfo, nodeClass: EC2NodeClass): number {
  const given = nodeClass.spec.networkInterfaces;
  if (given !== undefined) return given.filter((each) => each.interfaceType === 'efa-only').length;
  return info.NetworkInfo?.EfaInfo?.MaximumEfaInterfaces ?? 0;
}

interface CapacityContext {
  readonly family: AmiFamily;
  readonly pods: number;
  /** Fraction of memory that is not there for the operating system. */
  readonly memoryOverheadPercent: number;
  /** Memory in bytes that a node of this type reported before; stands in for the estimate. */
  readonly discoveredMemory?: number | undefined;
}

/** Every resource that instance types know is there, with 0 where a type has none. */
export function capacityOf(info: InstanceTypeInfo, nodeClass: EC2NodeClass, context: CapacityContext): Resources {
  const neuron = info.NeuronInfo?.NeuronDevices ?? [];
  const cores = (neuron[0]?.Count ?? 0) * (neuron[0]?.CoreInfo?.Count ?? 0);
  const ipv4 = info.NetworkInfo?.Ipv4AddressesPerInterface ?? 0;
  return {
    cpu: (info.VCpuInfo?.DefaultVCpus ?? 0) * 1000,
    memory: context.discoveredMemory ?? estimatedMemory(info, context.memoryOverheadPercent),
    'ephemeral-storage': ephemeralStorage(info, nodeClass, context.family),
    pods: context.pods,
    [POD_ENI_RESOURCE]: branchInterfaces(info.InstanceType ?? ''),
    [GPU_RESOURCES.NVIDIA]: gpus(info, 'NVIDIA'),
    [GPU_RESOURCES.AMD]: gpus(info, 'AMD'),
    [GPU_RESOURCES.Habana]: gpus(info, 'Habana'),
    [NEURON_RESOURCE]: neuron.reduce((sum, device) => sum + (device.Count ?? 0), 0),
    [NEURON_CORE_RESOURCE]: cores,
    [EFA_RESOURCE]: efaInterfaces(info, nodeClass),
    ...(isWindows(context.family) && architectureOf(info) === 'amd64'
      ? { [PRIVATE_IPV4_RESOURCE]: Math.max(0, ipv4 - 1) }
      : {}),
  };
}

const BRANCH_INTERFACE_FAMILIES: ReadonlyMap<string, ReadonlyMap<string, number>> = new Map(
  Object.entries(BRANCH_INTERFACES).map(([family, sizes]) => [
    family,
    new Map(sizes.split(' ').map((entry) => [entry.slice(0, entry.indexOf(':')), Number(entry.split(':')[1])])),
  ]),
);

/**
 * Returns the number of branch network interfaces (security groups for pods) of an instance type: 0 if the type cannot
 * trunk, or if AWS's table does not list it.
 */
function branchInterfaces(instanceType: string): number {
  const [family = '', size = ''] = instanceType.split('.');
  return BRANCH_INTERFACE_FAMILIES.get(family)?.get(size) ?? 0;
}
