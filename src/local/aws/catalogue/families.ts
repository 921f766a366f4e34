/**
 * Families of EC2 instance types from which the catalogue is built. The values are from us-east-1: price of the
 * smallest size in USD per hour, memory per vCPU, local disks and accelerators. Sizes are abbreviated: `md` is medium,
 * `lg` is large, `xl` is xlarge, and a number N is Nxlarge.
 */

type Maker = 'Intel' | 'AMD' | 'AWS';

/** Network interfaces and addresses per size; see `catalogue/network.ts`. */
export type EniPattern = 'A' | 'B' | 'C' | 'N' | 'T';

/** Baseline bandwidth per size; see `catalogue/network.ts`. */
export type BandwidthClass = 'm5' | '6' | 'graviton' | '8i' | 'c6gn' | 'c7gn' | '6in' | 'gpu' | 'burst';

interface Gpu {
  readonly name: string;
  readonly maker: 'NVIDIA' | 'AMD';
  readonly memoryMiB: number;
  /** Devices per size. The default is one. */
  readonly counts?: Readonly<Record<string, number>>;
}

interface Neuron {
  readonly name: string;
  readonly coresPerDevice: number;
  readonly memoryMiB: number;
  readonly counts: Readonly<Record<string, number>>;
}

export interface Family {
  readonly name: string;
  readonly maker: Maker;
  readonly sizes: readonly string[];
  /** GiB per vCPU. Burstable families have a separate table. */
  readonly gibPerVcpu: number;
  /** Price of the first size in USD per hour. Prices of other sizes are proportional to their vCPUs. */
  readonly usd: number;
  readonly clockGhz: number;
  readonly enis: EniPattern;
  readonly bandwidth: BandwidthClass;
  /** Disk of the first size in GB. Disks of other sizes are proportional to their vCPUs. */
  readonly diskGb?: number;
  readonly disk?: 'ssd' | 'hdd';
  readonly gpu?: Gpu;
  readonly neuron?: Neuron;
  readonly xen?: boolean;
  /** Hardware generation, if the digit in the name has another meaning. */
  readonly era?: number;
  /** Maximum number of EFA interfaces, for sizes that support EFA. */
  readonly efa?: Readonly<Record<string, number>>;
  /** Network cards and interfaces per card, for sizes with more than one card. */
  readonly cards?: Readonly<Record<string, readonly [cards: number, interfacesEach: number]>>;
  /** Sizes whose interfaces and addresses differ from the pattern. */
  readonly eniOf?: Readonly<Record<string, readonly [interfaces: number, addresses: number]>>;
  readonly vcpusOf?: Readonly<Record<string, number>>;
  readonly memoryMiBOf?: Readonly<Record<string, number>>;
  readonly diskGbOf?: Readonly<Record<string, number>>;
  readonly usdOf?: Readonly<Record<string, number>>;
  /** Indexes (from 0) of the region's zones in which this family is not offered. */
  readonly absentFrom?: readonly number[];
}

type Extra = Partial<Omit<Family, 'name' | 'maker' | 'sizes' | 'gibPerVcpu' | 'usd' | 'clockGhz'>>;

const X86_5 = 'lg xl 2 4 8 12 16 24';
const X86_6 = `${X86_5} 32`;
const ARM = 'md lg xl 2 4 8 12 16';
const BURST = 'na mi sm md lg xl 2';
const LARGE_8 = `${X86_6} 48 96 metal-48xl metal-96xl`;
const LARGE_ARM_8 = `${ARM} 24 48 metal-24xl metal-48xl`;
const LARGE_7I = `${X86_5} 48 metal-24xl metal-48xl`;
const LARGE_7A = `md ${X86_6} 48 metal-48xl`;
const FLEX = 'lg xl 2 4 8 12 16';

function family(
  name: string,
  maker: Maker,
  sizes: string,
  gibPerVcpu: number,
  usd: number,
  clockGhz: number,
  extra: Extra = {},
): Family {
  const bandwidth: BandwidthClass = maker === 'AWS' ? 'graviton' : '6';
  return { name, maker, sizes: sizes.split(' '), gibPerVcpu, usd, clockGhz, enis: 'A', bandwidth, ...extra };
}

const M5: Extra = { bandwidth: 'm5' };
const INTEL_8: Extra = { enis: 'B', bandwidth: '8i', efa: { '48': 1, '96': 1, 'metal-48xl': 1, 'metal-96xl': 1 } };
const AMD_8: Extra = { enis: 'C', bandwidth: '6', efa: { '48': 1, 'metal-48xl': 1 } };
const ARM_8: Extra = { efa: { '24': 1, '48': 1, 'metal-24xl': 1, 'metal-48xl': 1 } };
const INTEL_7: Extra = { efa: { '48': 1, 'metal-48xl': 1 } };
const AMD_7: Extra = { efa: { '48': 1, 'metal-48xl': 1 } };
const INTEL_6: Extra = { efa: { '32': 1, metal: 1 } };
const AMD_6: Extra = { efa: { '48': 1, metal: 1 } };
const NETWORK_6: Extra = {
  bandwidth: '6in',
  efa: { '32': 2, metal: 2 },
  cards: { '32': [2, 8], metal: [2, 8] },
};

export const FAMILIES: readonly Family[] = [
  family('t3', 'Intel', BURST, 0, 0.0052, 2.5, { enis: 'T', bandwidth: 'burst' }),
  family('t3a', 'AMD', BURST, 0, 0.0047, 2.5, { enis: 'T', bandwidth: 'burst', eniOf: { sm: [2, 4] } }),
  family('t4g', 'AWS', BURST, 0, 0.0042, 2.5, { enis: 'T', bandwidth: 'burst' }),

  family('c5', 'Intel', 'lg xl 2 4 9 12 18 24 metal', 2, 0.085, 3.4, M5),
  family('c5d', 'Intel', 'lg xl 2 4 9 12 18 24 metal', 2, 0.096, 3.4, {
    ...M5,
    diskGb: 50,
    diskGbOf: { '12': 1800, '18': 1800, '24': 3600, metal: 3600 },
  }),
  family('c5n', 'Intel', 'lg xl 2 4 9 18 metal', 2.625, 0.108, 3.4, {
    bandwidth: 'c6gn',
    efa: { '9': 1, '18': 1, metal: 1 },
    memoryMiBOf: { '9': 98304, '18': 196608, metal: 196608 },
  }),
  family('c5a', 'AMD', X86_5, 2, 0.077, 3.3, M5),
  family('c6i', 'Intel', `${X86_6} metal`, 2, 0.085, 3.5, INTEL_6),
  family('c6id', 'Intel', `${X86_6} metal`, 2, 0.1008, 3.5, { ...INTEL_6, diskGb: 118 }),
  family('c6in', 'Intel', `${X86_6} metal`, 2, 0.1134, 3.5, NETWORK_6),
  family('c6a', 'AMD', `${X86_6} 48 metal`, 2, 0.0765, 3.6, AMD_6),
  family('c6g', 'AWS', `${ARM} metal`, 2, 0.034, 2.5),
  family('c6gd', 'AWS', `${ARM} metal`, 2, 0.0384, 2.5, { diskGb: 59 }),
  family('c6gn', 'AWS', ARM, 2, 0.0432, 2.5, { bandwidth: 'c6gn', efa: { '16': 1 } }),
  family('c7i', 'Intel', LARGE_7I, 2, 0.08925, 3.2, INTEL_7),
  family('c7i-flex', 'Intel', FLEX, 2, 0.08479, 3.2),
  family('c7a', 'AMD', LARGE_7A, 2, 0.05132, 3.7, AMD_7),
  family('c7g', 'AWS', `${ARM} metal`, 2, 0.0363, 2.6),
  family('c7gd', 'AWS', `${ARM} metal`, 2, 0.0454, 2.6, { diskGb: 59 }),
  family('c7gn', 'AWS', `${ARM} metal`, 2, 0.0624, 2.6, { bandwidth: 'c7gn', efa: { '16': 1, metal: 1 } }),
  family('c8i', 'Intel', LARGE_8, 2, 0.09371, 3.9, INTEL_8),
  family('c8i-flex', 'Intel', FLEX, 2, 0.08902, 3.9, { enis: 'B', bandwidth: '8i', absentFrom: [2] }),
  family('c8a', 'AMD', LARGE_ARM_8, 2, 0.05389, 4.5, { ...AMD_8, absentFrom: [0] }),
  family('c8g', 'AWS', LARGE_ARM_8, 2, 0.03988, 2.8, ARM_8),
  family('c8gd', 'AWS', LARGE_ARM_8, 2, 0.04899, 2.8, { ...ARM_8, diskGb: 59 }),
  family('c8gn', 'AWS', LARGE_ARM_8, 2, 0.0593, 2.8, { ...ARM_8, enis: 'N', absentFrom: [1] }),

  family('m5', 'Intel', `${X86_5} metal`, 4, 0.096, 3.1, M5),
  family('m5d', 'Intel', `${X86_5} metal`, 4, 0.113, 3.1, { ...M5, diskGb: 75 }),
  family('m5n', 'Intel', `${X86_5} metal`, 4, 0.119, 3.1, { efa: { '24': 1, metal: 1 } }),
  family('m5a', 'AMD', X86_5, 4, 0.086, 2.5, M5),
  family('m6i', 'Intel', `${X86_6} metal`, 4, 0.096, 3.5, INTEL_6),
  family('m6id', 'Intel', `${X86_6} metal`, 4, 0.11865, 3.5, { ...INTEL_6, diskGb: 118 }),
  family('m6in', 'Intel', `${X86_6} metal`, 4, 0.13923, 3.5, NETWORK_6),
  family('m6a', 'AMD', `${X86_6} 48 metal`, 4, 0.0864, 3.6, AMD_6),
  family('m6g', 'AWS', `${ARM} metal`, 4, 0.0385, 2.5),
  family('m6gd', 'AWS', `${ARM} metal`, 4, 0.0452, 2.5, { diskGb: 59 }),
  family('m7i', 'Intel', LARGE_7I, 4, 0.1008, 3.2, INTEL_7),
  family('m7i-flex', 'Intel', FLEX, 4, 0.09576, 3.2),
  family('m7a', 'AMD', LARGE_7A, 4, 0.05796, 3.7, AMD_7),
  family('m7g', 'AWS', `${ARM} metal`, 4, 0.0408, 2.6),
  family('m7gd', 'AWS', `${ARM} metal`, 4, 0.0534, 2.6, { diskGb: 59 }),
  family('m8i', 'Intel', LARGE_8, 4, 0.10584, 3.9, INTEL_8),
  family('m8i-flex', 'Intel', FLEX, 4, 0.10055, 3.9, { enis: 'B', bandwidth: '8i', absentFrom: [2] }),
  family('m8a', 'AMD', LARGE_ARM_8, 4, 0.06086, 4.5, { ...AMD_8, absentFrom: [0] }),
  family('m8g', 'AWS', LARGE_ARM_8, 4, 0.04488, 2.8, ARM_8),
  family('m8gd', 'AWS', LARGE_ARM_8, 4, 0.05766, 2.8, { ...ARM_8, diskGb: 59 }),

  family('r5', 'Intel', `${X86_5} metal`, 8, 0.126, 3.1, M5),
  family('r5d', 'Intel', `${X86_5} metal`, 8, 0.144, 3.1, { ...M5, diskGb: 75 }),
  family('r5a', 'AMD', X86_5, 8, 0.113, 2.5, M5),
  family('r6i', 'Intel', `${X86_6} metal`, 8, 0.126, 3.5, INTEL_6),
  family('r6id', 'Intel', `${X86_6} metal`, 8, 0.1512, 3.5, { ...INTEL_6, diskGb: 118 }),
  family('r6a', 'AMD', `${X86_6} 48 metal`, 8, 0.1134, 3.6, AMD_6),
  family('r6g', 'AWS', `${ARM} metal`, 8, 0.0504, 2.5),
  family('r7i', 'Intel', LARGE_7I, 8, 0.1323, 3.2, INTEL_7),
  family('r7a', 'AMD', LARGE_7A, 8, 0.07608, 3.7, AMD_7),
  family('r7g', 'AWS', `${ARM} metal`, 8, 0.0536, 2.6),
  family('r8i', 'Intel', LARGE_8, 8, 0.13892, 3.9, INTEL_8),
  family('r8a', 'AMD', LARGE_ARM_8, 8, 0.07988, 4.5, { ...AMD_8, absentFrom: [0] }),
  family('r8g', 'AWS', LARGE_ARM_8, 8, 0.05891, 2.8, ARM_8),
  family('x2gd', 'AWS', `${ARM} metal`, 16, 0.0835, 2.5, { era: 6, diskGb: 59 }),
  family('x2iedn', 'Intel', 'xl 2 4 8 16 24 32 metal', 32, 0.83363, 3.5, {
    era: 6,
    diskGb: 118,
    efa: { '32': 1, metal: 1 },
    absentFrom: [2],
  }),
  family('z1d', 'Intel', 'lg xl 2 3 6 12 metal', 8, 0.186, 4.0, {
    ...M5,
    diskGb: 75,
    eniOf: { '12': [15, 50], metal: [15, 50] },
  }),

  family('i3', 'Intel', 'lg xl 2 4 8 16 metal', 7.625, 0.156, 3.0, {
    ...M5,
    diskGb: 475,
    xen: true,
    vcpusOf: { metal: 72 },
    memoryMiBOf: { metal: 524288 },
    usdOf: { metal: 4.992 },
    diskGbOf: { metal: 15200 },
  }),
  family('i3en', 'Intel', 'lg xl 2 3 6 12 24 metal', 8, 0.226, 3.1, {
    diskGb: 1250,
    efa: { '12': 1, '24': 1, metal: 1 },
    eniOf: { '3': [4, 15] },
  }),
  family('i4i', 'Intel', `${X86_6} metal`, 8, 0.172, 3.5, {
    era: 6,
    bandwidth: 'graviton',
    diskGb: 468.75,
    efa: { '32': 1, metal: 1 },
    eniOf: { '24': [15, 30] },
  }),
  family('im4gn', 'AWS', 'lg xl 2 4 8 16', 4, 0.1819, 2.5, { era: 6, diskGb: 937.5 }),
  family('i8g', 'AWS', 'lg xl 2 4 8 12 16 24 48 metal-24xl metal-48xl', 8, 0.1716, 2.8, {
    ...ARM_8,
    diskGb: 468.75,
    absentFrom: [1],
  }),
  family('d3', 'Intel', 'xl 2 4 8', 8, 0.499, 3.1, {
    diskGb: 5940,
    disk: 'hdd',
    eniOf: { xl: [4, 3], '2': [4, 5], '4': [4, 10], '8': [3, 20] },
  }),

  family('g4dn', 'Intel', 'xl 2 4 8 12 16 metal', 4, 0.526, 2.5, {
    bandwidth: 'gpu',
    gpu: { name: 'T4', maker: 'NVIDIA', memoryMiB: 16384, counts: { '12': 4, metal: 8 } },
    vcpusOf: { metal: 96 },
    diskGb: 125,
    diskGbOf: { '2': 225, '4': 225, '8': 900, '12': 900, '16': 900, metal: 1800 },
    efa: { '8': 1, '12': 1, '16': 1, metal: 1 },
    eniOf: { xl: [3, 10], '2': [3, 10], '4': [3, 10], '8': [4, 15], '16': [4, 15] },
    usdOf: { '2': 0.752, '4': 1.204, '8': 2.176, '12': 3.912, '16': 4.352, metal: 7.824 },
  }),
  family('g4ad', 'AMD', 'xl 2 4 8 16', 4, 0.37853, 3.0, {
    bandwidth: 'gpu',
    gpu: { name: 'Radeon Pro V520', maker: 'AMD', memoryMiB: 8192, counts: { '8': 2, '16': 4 } },
    diskGb: 150,
    eniOf: { xl: [2, 4], '2': [2, 4], '4': [3, 10], '8': [4, 15], '16': [8, 30] },
    usdOf: { '2': 0.54117, '4': 0.867, '8': 1.734, '16': 3.468 },
  }),
  family('g5', 'AMD', 'xl 2 4 8 12 16 24 48', 4, 1.006, 3.3, {
    bandwidth: 'gpu',
    gpu: { name: 'A10G', maker: 'NVIDIA', memoryMiB: 22888, counts: { '12': 4, '24': 4, '48': 8 } },
    diskGb: 250,
    diskGbOf: { '2': 450, '4': 600, '8': 900, '12': 3800, '16': 1900, '24': 3800, '48': 7600 },
    efa: { '8': 1, '12': 1, '16': 1, '24': 1, '48': 1 },
    eniOf: { '12': [15, 50], '16': [8, 30], '48': [7, 50] },
    usdOf: { '2': 1.212, '4': 1.624, '8': 2.448, '12': 5.672, '16': 4.096, '24': 8.144, '48': 16.288 },
  }),
  family('g5g', 'AWS', 'xl 2 4 8 16 metal', 2, 0.42, 2.5, {
    bandwidth: 'gpu',
    gpu: { name: 'T4g', maker: 'NVIDIA', memoryMiB: 16384, counts: { '16': 2, metal: 2 } },
    usdOf: { '2': 0.556, '4': 0.828, '8': 1.372, '16': 2.744, metal: 2.744 },
    absentFrom: [0],
  }),
  family('g6', 'AMD', 'xl 2 4 8 12 16 24 48', 4, 0.8048, 3.4, {
    bandwidth: 'gpu',
    gpu: { name: 'L4', maker: 'NVIDIA', memoryMiB: 22888, counts: { '12': 4, '24': 4, '48': 8 } },
    diskGb: 250,
    diskGbOf: { '2': 450, '4': 600, '8': 900, '12': 3760, '16': 1880, '24': 3760, '48': 7520 },
    efa: { '8': 1, '12': 1, '16': 1, '24': 1, '48': 1 },
    usdOf: { '2': 0.9776, '4': 1.3232, '8': 2.0144, '12': 4.6016, '16': 3.3968, '24': 6.6752, '48': 13.3504 },
  }),
  family('g6e', 'AMD', 'xl 2 4 8 12 16 24 48', 8, 1.861, 3.4, {
    bandwidth: 'gpu',
    gpu: { name: 'L40S', maker: 'NVIDIA', memoryMiB: 45776, counts: { '12': 4, '24': 4, '48': 8 } },
    diskGb: 250,
    diskGbOf: { '2': 450, '4': 600, '8': 900, '12': 3800, '16': 1900, '24': 3800, '48': 7600 },
    efa: { '8': 1, '12': 1, '16': 1, '24': 2, '48': 4 },
    cards: { '24': [2, 10], '48': [4, 10] },
    eniOf: { '12': [10, 30] },
    usdOf: { '2': 2.24208, '4': 3.00424, '8': 4.52856, '12': 10.49264, '16': 7.57719, '24': 15.06559, '48': 30.13118 },
  }),
  family('p3', 'Intel', '2 8 16', 7.625, 3.06, 2.7, {
    ...M5,
    xen: true,
    gpu: { name: 'V100', maker: 'NVIDIA', memoryMiB: 16384, counts: { '8': 4, '16': 8 } },
    eniOf: { '16': [8, 30] },
    absentFrom: [0],
  }),
  family('p4d', 'Intel', '24', 12, 21.957642, 3.0, {
    bandwidth: 'gpu',
    gpu: { name: 'A100', maker: 'NVIDIA', memoryMiB: 40960, counts: { '24': 8 } },
    diskGb: 8000,
    efa: { '24': 4 },
    cards: { '24': [4, 15] },
    absentFrom: [0],
  }),
  family('p5', 'AMD', '4 48', 0, 6.88, 3.6, {
    bandwidth: 'gpu',
    gpu: { name: 'H100', maker: 'NVIDIA', memoryMiB: 81920, counts: { '48': 8 } },
    memoryMiBOf: { '4': 262144, '48': 2097152 },
    diskGb: 3800,
    diskGbOf: { '48': 30400 },
    efa: { '4': 1, '48': 32 },
    eniOf: { '4': [4, 30] },
    cards: { '48': [32, 2] },
    usdOf: { '48': 55.04 },
    absentFrom: [1],
  }),
  family('inf1', 'Intel', 'xl 2 6 24', 2, 0.228, 3.0, {
    neuron: { name: 'Inferentia', coresPerDevice: 4, memoryMiB: 8192, counts: { xl: 1, '2': 1, '6': 4, '24': 16 } },
    eniOf: { xl: [4, 10], '2': [4, 10], '24': [11, 30] },
    usdOf: { '2': 0.362, '6': 1.18, '24': 4.721 },
  }),
  family('inf2', 'AMD', 'xl 8 24 48', 4, 0.7582, 3.6, {
    era: 6,
    neuron: { name: 'Inferentia2', coresPerDevice: 2, memoryMiB: 32768, counts: { xl: 1, '8': 1, '24': 6, '48': 12 } },
    usdOf: { '8': 1.96786, '24': 6.49063, '48': 12.98127 },
  }),
  family('trn1', 'Intel', '2 32', 4, 1.34375, 3.5, {
    era: 6,
    neuron: { name: 'Trainium', coresPerDevice: 2, memoryMiB: 32768, counts: { '2': 1, '32': 16 } },
    diskGb: 474,
    diskGbOf: { '32': 7600 },
    efa: { '32': 8 },
    cards: { '32': [8, 5] },
    usdOf: { '32': 21.5 },
    absentFrom: [0],
  }),
];
