/** Devices that DRA drivers publish for a machine: NVIDIA GPUs, EFA interfaces and Neuron devices. */
import { createHash } from 'node:crypto';
import {
  EFA_DRIVER,
  type EfaModel,
  efaRoot,
  GPU_LAYOUTS,
  type GpuLayout,
  type GpuModel,
  gpuRoot,
  NEURON_DRIVER,
  NVIDIA_DRIVER,
} from '#api/devices';
import type { Device, DeviceAttribute } from '#api/objects';
import type { LocalInstance } from '../../../aws/types.ts';

/** Drivers whose devices follow from the machine. */
export const MACHINE_DRIVERS: ReadonlySet<string> = new Set([NVIDIA_DRIVER, EFA_DRIVER, NEURON_DRIVER]);

const PCIE_ROOT = 'resource.kubernetes.io/pcieRoot';
const PCI_BUS_ID = 'resource.kubernetes.io/pciBusID';
/** Versions of the drivers. */
const NVIDIA_VERSION = '580.95.5';
const CUDA_VERSION = '13.0.0';
const NEURON_VERSION = '2.24.7.0';

type Attributes = Readonly<Record<string, DeviceAttribute>>;

const counted = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Returns a UUID that is the same for each call. */
function uuidOf(...parts: readonly (string | number)[]): string {
  const hex = createHash('sha256').update(parts.join('/')).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

/** Returns the PCI bus of a named root. Equal names are equal buses. */
function busOf(root: string): string {
  const [, kind, index] = /^(gpu|efa)-root-(\d+)$/.exec(root) ?? [];
  return (Number(index) * 16 + (kind === 'efa' ? 128 : 16)).toString(16).padStart(2, '0');
}

const placeAttributes = (root: string, bus: string, slot: number): Attributes => ({
  [PCI_BUS_ID]: { string: `0000:${bus}:${slot.toString(16).padStart(2, '0')}.0` },
  [PCIE_ROOT]: { string: `pci0000:${busOf(root)}` },
});

function gpu({ id }: LocalInstance, layout: GpuLayout, index: number): Device {
  const { productName, brand = 'Nvidia', architecture, cudaComputeCapability, memory }: GpuModel = layout.gpu;
  const root = gpuRoot(layout, index);
  return {
    name: `gpu-${index}`,
    attributes: {
      type: { string: 'gpu' },
      uuid: { string: `GPU-${uuidOf(id, 'gpu', index)}` },
      productName: { string: productName },
      brand: { string: brand },
      ...(architecture !== undefined && { architecture: { string: architecture } }),
      ...(cudaComputeCapability !== undefined && { cudaComputeCapability: { version: cudaComputeCapability } }),
      driverVersion: { version: NVIDIA_VERSION },
      cudaDriverVersion: { version: CUDA_VERSION },
      ...(root === undefined ? {} : placeAttributes(root, busOf(root), index)),
    },
    capacity: { memory: { value: memory } },
  };
}

function efa(layout: GpuLayout, { pciSubsystem, hasRdma = true }: EfaModel, index: number): Device {
  const root = efaRoot(layout, index);
  const bus = busOf(root);
  return {
    name: `efa-${index}`,
    attributes: {
      'dra.net/pciDevice': { string: 'Elastic Fabric Adapter (EFA)' },
      'dra.net/pciVendor': { string: 'Amazon.com, Inc.' },
      'dra.net/pciSubsystem': { string: pciSubsystem },
      'dra.net/rdma': { bool: hasRdma },
      'dra.net/pciAddress': { string: `0000:${bus}:${(index + 32).toString(16)}.0` },
      'dra.net/rdmaDevice': { string: `rdmap${index}s0` },
      [PCIE_ROOT]: { string: `pci0000:${bus}` },
    },
  };
}

const neuron = ({ type }: LocalInstance, index: number): Device => ({
  name: `neuron-device-${index}`,
  attributes: {
    deviceId: { int: index },
    instanceType: { string: type },
    resourceType: { string: 'neuron_device' },
    neuronDriverVersion: { string: NEURON_VERSION },
    draDriverVersion: { version: '1.0.0' },
  },
});

/** Returns the devices of a machine for a driver. Unknown drivers find no devices. */
export function devicesOf(driver: string, instance: LocalInstance): readonly Device[] {
  const layout = GPU_LAYOUTS.get(instance.type);
  if (driver === NVIDIA_DRIVER)
    return layout === undefined ? [] : counted(layout.count, (at) => gpu(instance, layout, at));
  if (driver === EFA_DRIVER) {
    // only interfaces that are attached exist on the machine
    const attached = instance.interfaces.filter(({ type }) => type.startsWith('efa')).length;
    const { efa: model } = layout ?? {};
    return layout === undefined || model === undefined ? [] : counted(attached, (at) => efa(layout, model, at));
  }
  if (driver !== NEURON_DRIVER) return [];
  const count = (instance.hardware.NeuronInfo?.NeuronDevices ?? []).reduce((sum, { Count = 0 }) => sum + Count, 0);
  return counted(count, (at) => neuron(instance, at));
}
