/** From a family and a short size to the API name, vCPUs, memory, disks and price. */
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
/** Hardware generation: decides bandwidth, encryption and threads. */
export const generationOf = (family: Family): number => family.era ?? Number(/\d+/.exec(family.name)?.[0] ?? 0);

export function apiName(family: Family, size: string): string {
  const long = LONG[size] ?? (isMetal(size) ? size : `${size}xlarge`);
  return `${family.name}.${long}`;
}

const SMALL: Readonly<Record<string, number>> = { na: 1 / 32, mi: 1 / 16, sm: 1 / 8, md: 1 / 4, lg: 1 / 2, xl: 1 };

/** Size in xlarge units (medium ¼, large ½, xlarge 1, 2xlarge 2 …); metal counts as the machine that it is. */
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

/** Graviton and AMD from generation 7 on have a core for each vCPU, others run two threads on a core. */
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

/** Local disk in gigabytes, 0 without one. Sold sizes are rounded down: 118, 237, 474, 950 … */
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

/** Metals that cost more than their share of vCPUs. */
const METAL_SURCHARGE: readonly (readonly [pattern: RegExp, factor: number])[] = [
  [/^[cmr]7i\.metal-24xl$/, 1.1],
  [/^[cmr]8g[dn]?\.metal-24xl$/, 1.1],
  [/^[cr]8i\.metal-48xl$/, 1.1],
  [/^[cmr]6gd?\.metal$/, 1.06],
];

/** Dollars an hour on demand: linear in vCPUs but for the listed exceptions; burstable sizes double each step. */
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
