/** Required fields of each instance type. */
import type * as Ec2 from '@aws-sdk/client-ec2';
import { amount, flag, list, optional, some, structure, text } from './checks.ts';

const COUNT = 1e5;
const MIB = 1e9;
const FEW = 1e3;

const network = structure<Ec2.NetworkInfo>({
  Ipv4AddressesPerInterface: amount(COUNT),
  DefaultNetworkCardIndex: optional(amount(FEW)),
  NetworkCards: list(
    structure<Ec2.NetworkCardInfo>({
      MaximumNetworkInterfaces: amount(FEW),
      BaselineBandwidthInGbps: optional(amount(MIB)),
    }),
    { atLeast: 1 },
  ),
  EfaInfo: optional(structure<Ec2.EfaInfo>({ MaximumEfaInterfaces: amount(FEW) })),
  EncryptionInTransitSupported: optional(flag),
});

const gpu = structure<Ec2.GpuDeviceInfo>({
  Count: optional(amount(FEW)),
  Manufacturer: text,
  Name: optional(text),
  MemoryInfo: optional(structure<Ec2.GpuDeviceMemoryInfo>({ SizeInMiB: optional(amount(MIB)) })),
});

const neuron = structure<Ec2.NeuronDeviceInfo>({
  Count: amount(FEW),
  Name: optional(text),
  CoreInfo: optional(structure<Ec2.NeuronDeviceCoreInfo>({ Count: optional(amount(FEW)) })),
});

export const instanceType = structure<Ec2.InstanceTypeInfo>({
  InstanceType: text,
  SupportedUsageClasses: list(text, { atLeast: 1 }),
  VCpuInfo: structure<Ec2.VCpuInfo>({ DefaultVCpus: some(COUNT) }),
  MemoryInfo: structure<Ec2.MemoryInfo>({ SizeInMiB: some(MIB) }),
  ProcessorInfo: structure<Ec2.ProcessorInfo>({
    SupportedArchitectures: list(text, { atLeast: 1 }),
    SustainedClockSpeedInGhz: optional(amount(FEW)),
    Manufacturer: optional(text),
    SupportedFeatures: optional(list(text)),
  }),
  NetworkInfo: network,
  GpuInfo: optional(structure<Ec2.GpuInfo>({ Gpus: list(gpu, { atLeast: 1 }) })),
  NeuronInfo: optional(structure<Ec2.NeuronInfo>({ NeuronDevices: list(neuron, { atLeast: 1 }) })),
  InferenceAcceleratorInfo: optional(
    structure<Ec2.InferenceAcceleratorInfo>({
      Accelerators: list(structure<Ec2.InferenceDeviceInfo>({ Count: optional(amount(FEW)), Name: optional(text) }), {
        atLeast: 1,
      }),
    }),
  ),
  InstanceStorageInfo: optional(structure<Ec2.InstanceStorageInfo>({ TotalSizeInGB: amount(MIB) })),
  EbsInfo: optional(
    structure<Ec2.EbsInfo>({
      EbsOptimizedSupport: optional(text),
      MaximumEbsAttachments: optional(amount(FEW)),
      AttachmentLimitType: optional(text),
      EbsOptimizedInfo: optional(structure<Ec2.EbsOptimizedInfo>({ MaximumBandwidthInMbps: optional(amount(MIB)) })),
    }),
  ),
  PlacementGroupInfo: optional(structure<Ec2.PlacementGroupInfo>({ SupportedStrategies: optional(list(text)) })),
  BareMetal: optional(flag),
  Hypervisor: optional(text),
});
