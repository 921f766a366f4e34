/** Computes the API name, vCPUs, memory, disks and price of a family and an abbreviated size. */
import type { Family } from './families.ts';

const LONG: Readonly<Record<string, string>> = {
  na: 'nano',
  mi: 'micro',
  sm: 'small',
  md: 'medium',
  lg: 'large',
  xl: 'xlarge',
};

const BURSTABLE_ORDER = ['na', 'mi', 'sm', 'md', 'lg', 'xl', '2'];
const BURSTABLE_GIB = [0.5, 1, 2, 4, 8, 16, 32];

export const isMetal = (size: string): boolean => size.startsWith('metal');
export const isBurstable = (family: Family): boolean => family.enis === 'T';
export const isArm = (family: Family): boolean => family.maker === 'AWS';
/** Returns the hardware generation, which determines bandwidth, encryption and threads. */
export const generationOf = (family: Family): number => family.era ?? Number(/\d+/.exec(family.name)?.[0] ?? 0);

export function apiName(family: Family, size: string): string {
  const long = LONG[size] ?? (isMetal(size) ? size : `${size}xlarge`);
  return `${family.name}.${long}`;
}

const SMALL: Readonly<Record<string, number>> = { na: 1 / 32, mi: 1 / 16, sm: 1 / 8, md: 1 / 4, lg: 1 / 2, xl: 1 };

/**
 * Returns the size in xlarge units: medium ¼, large ½, xlarge 1, 2xlarge 2 and so on. Bare metal has the size of its
 * machine.
 */
export function comparableSize(family: Family, size: string): number {
  const small = SMALL[size];
  if (small) return small;
  const named = /^metal-(\d+)xl$/.exec(size);
  if (named) return Number(named[1]);
  if (!isMetal(size)) return Number(size);
  return Math.max(...family.sizes.filter((other) => /^\d+$/.test(other)).map(Number));
}

export function vcpusOf(family: Family, size: string): number {
  const special = family.vcpusOf?.[size];
  if (special) return special;
  if (isBurstable(family)) return size === 'xl' ? 4 : size === '2' ? 8 : 2;
  return comparableSize(family, size) * 4;
}

/**
 * Returns the threads per core. Graviton, and AMD from generation 7, have one core for each vCPU; others run two
 * threads per core.
 */
export const threadsPerCore = (family: Family): 1 | 2 =>
  isArm(family) || (family.maker === 'AMD' && generationOf(family) >= 7) ? 1 : 2;

export function memoryMiBOf(family: Family, size: string): number {
  const special = family.memoryMiBOf?.[size];
  if (special) return special;
  const gib = isBurstable(family)
    ? (BURSTABLE_GIB[BURSTABLE_ORDER.indexOf(size)] ?? 0)
    : family.gibPerVcpu * vcpusOf(family, size);
  return Math.round(gib * 1024);
}

/** Returns the size of the local disk in GB, or 0. Sizes are rounded down as EC2 does: 118, 237, 474, 950 and so on. */
export function diskGbOf(family: Family, size: string): number {
  const special = family.diskGbOf?.[size];
  if (special) return special;
  if (!family.diskGb) return 0;
  const first = family.sizes[0] ?? size;
  if (size === first) return Math.floor(family.diskGb);
  const exact =
    family.diskGb === 59 || family.diskGb === 118
      ? family.diskGb + (family.diskGb === 59 ? 0.375 : 0.75)
      : family.diskGb;
  const gigabytes = Math.floor((exact * vcpusOf(family, size)) / vcpusOf(family, first));
  return gigabytes === 475 ? 474 : gigabytes;
}

/** Bare metal sizes with prices above their share of vCPUs. */
const METAL_SURCHARGE: readonly (readonly [pattern: RegExp, factor: number])[] = [
  [/^[cmr]7i\.metal-24xl$/, 1.1],
  [/^[cmr]8g[dn]?\.metal-24xl$/, 1.1],
  [/^[cr]8i\.metal-48xl$/, 1.1],
  [/^[cmr]6gd?\.metal$/, 1.06],
];

/**
 * Returns the on-demand price in USD per hour. It is proportional to the vCPUs except for the listed types, and doubles
 * with each burstable size.
 */
export function onDemandUsdOf(family: Family, size: string): number {
  const special = family.usdOf?.[size];
  if (special) return special;
  const first = family.sizes[0] ?? size;
  const share = isBurstable(family)
    ? 2 ** BURSTABLE_ORDER.indexOf(size)
    : vcpusOf(family, size) / vcpusOf(family, first);
  const name = apiName(family, size);
  const surcharge = METAL_SURCHARGE.find(([pattern]) => pattern.test(name))?.[1] ?? 1;
  return Number((family.usd * share * surcharge).toFixed(6));
}
