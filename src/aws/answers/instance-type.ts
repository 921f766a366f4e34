/** Required fields of each instance type. */
import type {
  EbsInfo,
  EbsOptimizedInfo,
  EfaInfo,
  GpuDeviceInfo,
  GpuDeviceMemoryInfo,
  GpuInfo,
  InferenceAcceleratorInfo,
  InferenceDeviceInfo,
  InstanceStorageInfo,
  InstanceTypeInfo,
  MemoryInfo,
  NetworkCardInfo,
  NetworkInfo,
  NeuronDeviceCoreInfo,
  NeuronDeviceInfo,
  NeuronInfo,
  PlacementGroupInfo,
  ProcessorInfo,
  VCpuInfo,
} from '@aws-sdk/client-ec2';
import { amount, flag, list, optional, some, structure, text } from './checks.ts';

const COUNT = 1e5;
const MIB = 1e9;
const FEW = 1e3;

const network = structure<NetworkInfo>({
  Ipv4AddressesPerInterface: amount(COUNT),
  DefaultNetworkCardIndex: optional(amount(FEW)),
  NetworkCards: list(
    structure<NetworkCardInfo>({
      MaximumNetworkInterfaces: amount(FEW),
      BaselineBandwidthInGbps: optional(amount(MIB)),
    }),
    { atLeast: 1 },
  ),
  EfaInfo: optional(structure<EfaInfo>({ MaximumEfaInterfaces: amount(FEW) })),
  EncryptionInTransitSupported: optional(flag),
});

const gpu = structure<GpuDeviceInfo>({
  Count: optional(amount(FEW)),
  Manufacturer: text,
  Name: optional(text),
  MemoryInfo: optional(structure<GpuDeviceMemoryInfo>({ SizeInMiB: optional(amount(MIB)) })),
});

const neuron = structure<NeuronDeviceInfo>({
  Count: amount(FEW),
  Name: optional(text),
  CoreInfo: optional(structure<NeuronDeviceCoreInfo>({ Count: optional(amount(FEW)) })),
});

export const instanceType = structure<InstanceTypeInfo>({
  InstanceType: text,
  SupportedUsageClasses: list(text, { atLeast: 1 }),
  VCpuInfo: structure<VCpuInfo>({ DefaultVCpus: some(COUNT) }),
  MemoryInfo: structure<MemoryInfo>({ SizeInMiB: some(MIB) }),
  ProcessorInfo: structure<ProcessorInfo>({
    SupportedArchitectures: list(text, { atLeast: 1 }),
    SustainedClockSpeedInGhz: optional(amount(FEW)),
    Manufacturer: optional(text),
    SupportedFeatures: optional(list(text)),
  }),
  NetworkInfo: network,
  GpuInfo: optional(structure<GpuInfo>({ Gpus: list(gpu, { atLeast: 1 }) })),
  NeuronInfo: optional(structure<NeuronInfo>({ NeuronDevices: list(neuron, { atLeast: 1 }) })),
  InferenceAcceleratorInfo: optional(
    structure<InferenceAcceleratorInfo>({
      Accelerators: list(structure<InferenceDeviceInfo>({ Count: optional(amount(FEW)), Name: optional(text) }), {
        atLeast: 1,
      }),
    }),
  ),
  InstanceStorageInfo: optional(structure<InstanceStorageInfo>({ TotalSizeInGB: amount(MIB) })),
  EbsInfo: optional(
    structure<EbsInfo>({
      EbsOptimizedSupport: optional(text),
      EbsOptimizedInfo: optional(structure<EbsOptimizedInfo>({ MaximumBandwidthInMbps: optional(amount(MIB)) })),
    }),
  ),
  PlacementGroupInfo: optional(structure<PlacementGroupInfo>({ SupportedStrategies: optional(list(text)) })),
  BareMetal: optional(flag),
  Hypervisor: optional(text),
});
