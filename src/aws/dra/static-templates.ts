/**
 * Devices of new nodes with the DRA drivers `gpu.nvidia.com`, `dra.net` and `neuron.aws.com`. A feature gate for each driver
 * confirms that nodes run the driver.
 */

import {
  EFA_DRIVER,
  type EfaModel,
  efaRoot,
  GPU_LAYOUTS,
  type GpuLayout,
  type GpuModel,
  gpuRoot,
  NVIDIA_DRIVER,
} from '#api/devices';
import type { Device } from '#api/objects';
import type { DriverTemplate, RuntimeValues } from '#engine/devices';
import { amountIn, type InstanceType } from '#engine/model';
import { EFA_RESOURCE } from '../instancetypes/capacity.ts';
import { neuronTemplate } from './neuron-templates.ts';

const PCIE_ROOT = 'resource.kubernetes.io/pcieRoot';
const SOURCE = 'static';
const GPU_RESOURCE = 'nvidia.com/gpu';
/** EC2NodeClass annotation that lets several claims share a GPU. */
export const CONSUMABLE_CAPACITY_ANNOTATION = 'karpenter.k8s.aws/nvidia-consumable-capacity';

/** Sharing of GPUs: none, by memory with the whole memory as the default, unlimited, or a number of shares. */
export type GpuSharing = 'disabled' | 'memory' | 'unlimited' | number;

/** Returns the sharing of an annotation, or undefined if the text is not valid. */
export function gpuSharing(text = ''): GpuSharing | undefined {
  if (text === '' || text === 'disabled') return 'disabled';
  if (text === 'memory' || text === 'unlimited') return text;
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}

export interface StaticDrivers {
  readonly nvidia: boolean;
  readonly efa: boolean;
  readonly neuron: boolean;
}

interface Parts {
  readonly drivers: StaticDrivers;
  readonly sharing: GpuSharing;
}

const known = new Map<string, readonly DriverTemplate[]>();
const NONE: readonly DriverTemplate[] = [];

/** Returns the templates of an instance type. Returns the same object for equal layouts, so that they are compiled once. */
export function staticTemplates(type: InstanceType, { drivers, sharing }: Parts): readonly DriverTemplate[] {
  const { name, capacity } = type;
  const neuron = drivers.neuron ? neuronTemplate(type) : undefined;
  if (neuron !== undefined) return [neuron];
  const layout = GPU_LAYOUTS.get(name);
  // a changed instance type is unknown
  if (layout === undefined || amountIn(capacity, GPU_RESOURCE) !== layout.count) return NONE;
  const efas = amountIn(capacity, EFA_RESOURCE);
  const hasEfas = drivers.efa && layout.efa !== undefined && efas === layout.efa.count;
  const id = JSON.stringify([layout, drivers.nvidia, hasEfas, sharing]);
  let templates = known.get(id);
  if (templates === undefined) {
    templates = [
      ...(drivers.nvidia ? [gpuTemplate(layout, sharing)] : []),
      ...(hasEfas && layout.efa ? [efaTemplate(layout, layout.efa)] : []),
    ];
    known.set(id, templates);
  }
  return templates;
}

const unique = (...attributes: readonly string[]): readonly RuntimeValues[] =>
  attributes.map((attribute) => ({ attribute, isUnique: true }));

function gpuTemplate(layout: GpuLayout, sharing: GpuSharing): DriverTemplate {
  const { gpu, count } = layout;
  const devices = Array.from({ length: count }, (_, index) => gpuDevice(`gpu-${index}`, gpu, sharing));
  const roots = new Map<string, string>();
  for (const [index, { name }] of devices.entries()) {
    const root = gpuRoot(layout, index);
    if (root !== undefined) roots.set(name, root);
  }
  return {
    driver: NVIDIA_DRIVER,
    source: SOURCE,
    pools: [{ pool: 'gpus', devices }],
    runtime: [
      ...unique('uuid', 'resource.kubernetes.io/pciBusID'),
      ...(roots.size === 0 ? [] : [{ attribute: PCIE_ROOT, groups: roots, areDisjoint: true }]),
    ],
  };
}

function gpuDevice(name: string, gpu: GpuModel, sharing: GpuSharing): Device {
  const { productName, architecture, cudaComputeCapability, memory, brand = 'Nvidia' } = gpu;
  return {
    name,
    attributes: {
      type: { string: 'gpu' },
      productName: { string: productName },
      brand: { string: brand },
      ...(architecture !== undefined && { architecture: { string: architecture } }),
      ...(cudaComputeCapability !== undefined && { cudaComputeCapability: { version: cudaComputeCapability } }),
    },
    ...(sharing === 'disabled' ? { capacity: { memory: { value: memory } } } : sharedCapacity(memory, sharing)),
  };
}

const sharedCapacity = (memory: string, sharing: Exclude<GpuSharing, 'disabled'>): Partial<Device> => ({
  allowMultipleAllocations: true,
  capacity: {
    memory: {
      value: memory,
      requestPolicy:
        sharing === 'memory'
          ? { default: memory, validRange: { min: '1Mi', max: memory, step: '1Mi' } }
          : { default: '0', validRange: { min: '0', max: memory, step: '1Mi' } },
    },
    ...(typeof sharing === 'number' && {
      shares: {
        value: `${sharing}`,
        requestPolicy: { default: '1', validRange: { min: '1', max: `${sharing}`, step: '1' } },
      },
    }),
  },
});

function efaTemplate(layout: GpuLayout, { count, pciSubsystem, hasRdma = true }: EfaModel): DriverTemplate {
  const devices = Array.from(
    { length: count },
    (_, index): Device => ({
      name: `efa-${index}`,
      attributes: {
        'dra.net/pciDevice': { string: 'Elastic Fabric Adapter (EFA)' },
        'dra.net/pciVendor': { string: 'Amazon.com, Inc.' },
        'dra.net/pciSubsystem': { string: pciSubsystem },
        'dra.net/rdma': { bool: hasRdma },
      },
    }),
  );
  return {
    driver: EFA_DRIVER,
    source: SOURCE,
    pools: [{ pool: 'network', devices }],
    runtime: [
      ...unique('pciAddress', 'rdmaDevice'),
      {
        attribute: PCIE_ROOT,
        groups: new Map(devices.map(({ name }, index) => [name, efaRoot(layout, index)])),
        areDisjoint: true,
      },
    ],
  };
}
