/** Capacity of instance types, in canonical units: milli-cores, bytes and counts. */

import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { EFA_DRIVER } from '#api/devices';
import { type EC2NodeClass, type NodeClaim, REQUESTED_DRA_DRIVERS_ANNOTATION } from '#api/objects';
import { parseQuantity } from '#api/values';
import type { Term, Terms } from '#engine/model';
import { type AmiFamily, isWindows } from '../amis/families.ts';
import { BRANCH_INTERFACES } from './branchinterfacetable.ts';
import { architectureOf } from './labels.ts';

export const EFA_RESOURCE = 'vpc.amazonaws.com/efa';
const POD_ENI_RESOURCE = 'vpc.amazonaws.com/pod-eni';
const PRIVATE_IPV4_RESOURCE = 'vpc.amazonaws.com/PrivateIPv4Address';
export const NITRO_SANDBOX_RESOURCE = 'eks.amazonaws.com/nitro-sandbox';
export const NEURON_RESOURCE = 'aws.amazon.com/neuron';
const NEURON_CORE_RESOURCE = 'aws.amazon.com/neuroncore';
const GPU_RESOURCES = { NVIDIA: 'nvidia.com/gpu', AMD: 'amd.com/gpu', Habana: 'habana.ai/gaudi' } as const;
/** Special resources. Pods that do not request them should not run on these instance types. */
export const EXOTIC_RESOURCES: readonly string[] = [
  NEURON_RESOURCE,
  NEURON_CORE_RESOURCE,
  ...Object.values(GPU_RESOURCES),
];

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const GB = 1e9;
/** Memory that Graviton instances reserve for contiguous allocation. */
const ARM_RESERVED_MIB = 64;
const DEFAULT_STORAGE_TERM: Term = { text: 'default size of volumes', amount: 20 * GIB };

/**
 * Estimates the memory that the operating system will report, in bytes.
 * @param overheadPercent a fraction, despite its name
 */
export function memoryTerms(info: InstanceTypeInfo, overheadPercent: number): readonly Term[] {
  const isArm = info.ProcessorInfo?.SupportedArchitectures?.[0] === 'arm64';
  const reported = info.MemoryInfo?.SizeInMiB ?? 0;
  const mib = reported - (isArm ? ARM_RESERVED_MIB : 0);
  const overheadMib = Math.ceil((mib * MIB * overheadPercent) / 1024 / 1024);
  return [
    { text: 'memory that EC2 reports', amount: reported * MIB },
    ...(isArm ? [{ text: 'contiguous memory of Graviton', amount: -ARM_RESERVED_MIB * MIB }] : []),
    {
      text: `estimate for hypervisor and kernel (VM_MEMORY_OVERHEAD_PERCENT ${overheadPercent})`,
      amount: -overheadMib * MIB,
    },
  ];
}

/** Returns the size of the volume with the kubelet's root directory, in bytes. */
function storageTerm(info: InstanceTypeInfo, nodeClass: EC2NodeClass, family: AmiFamily): Term {
  const { blockDeviceMappings: mappings = [], instanceStorePolicy } = nodeClass.spec;
  const local = info.InstanceStorageInfo?.TotalSizeInGB;
  if (instanceStorePolicy === 'RAID0' && local !== undefined)
    return { text: 'instance store volumes (spec.instanceStorePolicy RAID0)', amount: local * GB };
  const termOf = (mapping: (typeof mappings)[number] | undefined): Term | undefined =>
    mapping?.ebs?.volumeSize === undefined
      ? undefined
      : {
          text: `volume ${mapping.deviceName ?? ''} of spec.blockDeviceMappings`,
          amount: parseQuantity(mapping.ebs.volumeSize),
        };

  const root = termOf(mappings.find((each) => each.rootVolume === true));
  if (root !== undefined) return root;
  // For custom images, the root device is unknown. The last mapping counts as the root by convention.
  if (family.ephemeralDevice === undefined) return termOf(mappings.at(-1)) ?? DEFAULT_STORAGE_TERM;
  const own = termOf(mappings.find((each) => each.deviceName === family.ephemeralDevice));
  if (own !== undefined) return own;
  const fallback = family.blockDevices.find((each) => each.deviceName === family.ephemeralDevice);
  if (fallback === undefined) return DEFAULT_STORAGE_TERM;
  return { text: `default volume ${fallback.deviceName} of ${family.name}`, amount: parseQuantity(fallback.size) };
}

function gpus(info: InstanceTypeInfo, manufacturer: string): number {
  const matching = (info.GpuInfo?.Gpus ?? []).filter((gpu) => gpu.Manufacturer === manufacturer);
  return matching.reduce((sum, gpu) => sum + (gpu.Count ?? 0), 0);
}

/** Returns true if a NodeClaim needs EFA interfaces, as a resource or for resource claims. */
export function requestsEfa({ metadata, spec }: NodeClaim): boolean {
  const drivers = metadata.annotations?.[REQUESTED_DRA_DRIVERS_ANNOTATION]?.split(',') ?? [];
  return spec.resources?.requests?.[EFA_RESOURCE] !== undefined || drivers.some((each) => each.trim() === EFA_DRIVER);
}

function efaTerm(info: InstanceTypeInfo, nodeClass: EC2NodeClass): Term {
  const given = nodeClass.spec.networkInterfaces;
  if (given === undefined)
    return { text: 'EFA interfaces that EC2 reports', amount: info.NetworkInfo?.EfaInfo?.MaximumEfaInterfaces ?? 0 };
  const amount = given.filter((each) => each.interfaceType === 'efa-only').length;
  return { text: 'interfaces of type efa-only in spec.networkInterfaces', amount };
}

interface CapacityContext {
  readonly family: AmiFamily;
  readonly pods: readonly Term[];
  /** Fraction of the memory that is not available to the operating system. */
  readonly memoryOverheadPercent: number;
}

/** Returns terms for every resource of instance types. Their sum is 0 if the type does not have the resource. */
export function capacityTerms(info: InstanceTypeInfo, nodeClass: EC2NodeClass, context: CapacityContext): Terms {
  const neuron = info.NeuronInfo?.NeuronDevices ?? [];
  const cores = (neuron[0]?.Count ?? 0) * (neuron[0]?.CoreInfo?.Count ?? 0);
  const ipv4 = info.NetworkInfo?.Ipv4AddressesPerInterface ?? 0;
  const reported = (what: string, amount: number): readonly Term[] => [{ text: `${what} that EC2 reports`, amount }];
  return {
    cpu: reported('vCPUs', (info.VCpuInfo?.DefaultVCpus ?? 0) * 1000),
    memory: memoryTerms(info, context.memoryOverheadPercent),
    'ephemeral-storage': [storageTerm(info, nodeClass, context.family)],
    pods: context.pods,
    [POD_ENI_RESOURCE]: [
      { text: 'branch interfaces in the table of AWS', amount: branchInterfaces(info.InstanceType ?? '') },
    ],
    [GPU_RESOURCES.NVIDIA]: reported('GPUs', gpus(info, 'NVIDIA')),
    [GPU_RESOURCES.AMD]: reported('GPUs', gpus(info, 'AMD')),
    [GPU_RESOURCES.Habana]: reported('accelerators', gpus(info, 'Habana')),
    [NEURON_RESOURCE]: reported(
      'Neuron devices',
      neuron.reduce((sum, device) => sum + (device.Count ?? 0), 0),
    ),
    [NEURON_CORE_RESOURCE]: reported('Neuron cores', cores),
    [EFA_RESOURCE]: [efaTerm(info, nodeClass)],
    ...(isWindows(context.family) && architectureOf(info) === 'amd64'
      ? {
          [PRIVATE_IPV4_RESOURCE]: [{ text: 'secondary addresses of one interface', amount: Math.max(0, ipv4 - 1) }],
        }
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
