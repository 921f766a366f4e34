/** NVIDIA GPUs and EFA interfaces of instance types, as their DRA drivers publish them. */

export interface GpuModel {
  readonly productName: string;
  readonly memory: string;
  readonly brand?: string;
  /** Absent if the driver's value is not known. */
  readonly architecture?: string;
  readonly cudaComputeCapability?: string;
}

export interface EfaModel {
  readonly count: number;
  readonly pciSubsystem: string;
  /** Interfaces per PCIe root, which start at the first root of the GPUs. Undefined if they have roots of their own. */
  readonly perGpuRoot?: number;
  readonly hasRdma?: boolean;
  /** Number of roots if the interfaces have roots of their own. Default 1. */
  readonly ownRoots?: number;
}

/** GPUs of an instance type. */
export interface GpuLayout {
  readonly gpu: GpuModel;
  readonly count: number;
  /** GPUs per PCIe root. 0 if the roots are not known. */
  readonly perRoot: number;
  readonly efa?: EfaModel;
}

/** Returns the PCIe root of a GPU. Undefined if it is not known. Equal names are equal roots. */
export const gpuRoot = ({ perRoot }: GpuLayout, index: number): string | undefined =>
  perRoot === 0 ? undefined : `gpu-root-${Math.floor(index / perRoot)}`;

/** Returns the PCIe root of an EFA interface, which can be the root of GPUs. */
export function efaRoot({ count: gpus, perRoot, efa }: GpuLayout, index: number): string {
  const { count = 1, perGpuRoot, ownRoots = 1 } = efa ?? {};
  if (perGpuRoot === undefined) return `efa-root-${Math.floor(index / Math.ceil(count / ownRoots))}`;
  const gpuRoots = Math.ceil(gpus / (perRoot || 1));
  return `gpu-root-${Math.min(Math.floor(index / perGpuRoot), gpuRoots - 1)}`;
}

const model = (productName: string, architecture: string, cudaComputeCapability: string, memory: string): GpuModel => ({
  productName,
  architecture,
  cudaComputeCapability,
  memory,
});

const T4 = model('Tesla T4', 'Turing', '7.5.0', '15Gi');
const A10G = model('NVIDIA A10G', 'Ampere', '8.6.0', '23028Mi');
const T4G = model('NVIDIA T4G', 'Turing', '7.5.0', '15Gi');
const L4 = model('NVIDIA L4', 'Ada Lovelace', '8.9.0', '23034Mi');
const L40S = model('NVIDIA L40S', 'Ada Lovelace', '8.9.0', '46068Mi');
const V100 = { ...model('Tesla V100-SXM2-32GB', 'Volta', '7.0.0', '32Gi'), brand: 'Tesla' };
const A100_40 = model('NVIDIA A100-SXM4-40GB', 'Ampere', '8.0.0', '40320Mi');
const A100_80 = model('NVIDIA A100-SXM4-80GB', 'Ampere', '8.0.0', '80Gi');
const H100 = model('NVIDIA H100 80GB HBM3', 'Hopper', '9.0.0', '81152Mi');
const H200 = model('NVIDIA H200', 'Hopper', '9.0.0', '140Gi');
const B200 = model('NVIDIA B200', 'Blackwell', '10.0.0', '182784Mi');
const B300 = model('NVIDIA B300 SXM6 AC', 'Blackwell', '10.3.0', '268Gi');
/** Fraction of an L4. */
const part = (name: string, memory: string): GpuModel => ({
  productName: `NVIDIA ${name}`,
  memory,
  brand: 'NvidiaVWS',
});

const efa = (count: number, pciSubsystem: string, perGpuRoot?: number): EfaModel => ({
  count,
  pciSubsystem,
  ...(perGpuRoot !== undefined && { perGpuRoot }),
});
const layout = (gpu: GpuModel, count: number, perRoot: number, own?: EfaModel): GpuLayout => ({
  gpu,
  count,
  perRoot,
  ...(own && { efa: own }),
});

/** Layouts of the sizes of a family. */
const sizes = (
  family: string,
  bySize: Readonly<Record<string, GpuLayout>>,
): readonly (readonly [string, GpuLayout])[] =>
  Object.entries(bySize).flatMap(([names, each]) =>
    names.split(' ').map((size) => [`${family}.${size}`, each] as const),
  );

/** Families whose GPUs have a PCIe root each, and their EFA interfaces another root. */
const withOwnRoots = (family: string, gpu: GpuModel, efas: Readonly<Record<string, EfaModel>>) =>
  sizes(family, {
    'xlarge 2xlarge 4xlarge': layout(gpu, 1, 1),
    '8xlarge 16xlarge': layout(gpu, 1, 1, efas.one),
    '12xlarge': layout(gpu, 4, 1, efas.one),
    '24xlarge': layout(gpu, 4, 1, efas.large),
    '48xlarge': layout(gpu, 8, 1, efas.largest),
  });

export const GPU_LAYOUTS: ReadonlyMap<string, GpuLayout> = new Map([
  ...sizes('g4dn', {
    'xlarge 2xlarge 4xlarge': layout(T4, 1, 1),
    '8xlarge 16xlarge': layout(T4, 1, 1, efa(1, 'efa0', 1)),
    '12xlarge': layout(T4, 4, 4, efa(1, 'efa0', 1)),
    metal: layout(T4, 8, 2, { ...efa(1, 'efa0'), hasRdma: false }),
  }),
  ...sizes('g5', {
    'xlarge 2xlarge 4xlarge': layout(A10G, 1, 1),
    '8xlarge 16xlarge': layout(A10G, 1, 1, efa(1, 'efa0', 1)),
    '12xlarge 24xlarge': layout(A10G, 4, 4, efa(1, 'efa0', 1)),
    '48xlarge': layout(A10G, 8, 8, efa(1, 'efa0', 1)),
  }),
  ...sizes('g5g', {
    'xlarge 2xlarge 4xlarge 8xlarge': layout(T4G, 1, 1),
    '16xlarge': layout(T4G, 2, 2),
    metal: layout({ ...T4G, memory: '16Gi' }, 2, 2),
  }),
  ...withOwnRoots('g6', L4, { one: efa(1, 'efa1'), large: efa(1, 'efa1'), largest: efa(1, 'efa1') }),
  ...withOwnRoots('g6e', L40S, {
    one: efa(1, 'efa1'),
    large: efa(2, 'efa1'),
    largest: { ...efa(4, 'efa1'), ownRoots: 2 },
  }),
  ...sizes('gr6', { '4xlarge': layout(L4, 1, 1), '8xlarge': layout(L4, 1, 1, efa(1, 'efa1')) }),
  ...sizes('g6f', {
    'large xlarge': layout(part('L4-3Q', '3Gi'), 1, 0),
    '2xlarge': layout(part('L4-6Q', '6Gi'), 1, 0),
    '4xlarge': layout(part('L4-12Q', '12Gi'), 1, 0),
  }),
  ...sizes('gr6f', { '4xlarge': layout(part('L4-12Q', '12Gi'), 1, 0) }),
  ...sizes('p3dn', { '24xlarge': layout(V100, 8, 8, efa(1, 'efa0', 1)) }),
  ...sizes('p4d', { '24xlarge': layout(A100_40, 8, 2, efa(4, 'efa0', 1)) }),
  ...sizes('p4de', { '24xlarge': layout(A100_80, 8, 2, efa(4, 'efa0', 1)) }),
  ...sizes('p5', {
    '4xlarge': layout(H100, 1, 1, efa(1, 'efa1', 1)),
    '48xlarge': layout(H100, 8, 1, efa(32, 'efa1', 4)),
  }),
  ...sizes('p5e', { '48xlarge': layout(H200, 8, 1, efa(32, 'efa1', 4)) }),
  ...sizes('p5en', { '48xlarge': layout(H200, 8, 2, efa(16, 'efa2', 4)) }),
  ...sizes('p6-b200', { '48xlarge': layout(B200, 8, 2, efa(8, 'efa3', 2)) }),
  ...sizes('p6-b300', { '48xlarge': layout(B300, 8, 1, efa(16, 'efa3', 2)) }),
]);
