/** Interfaces, addresses and bandwidth per size of a family. */
import type { BandwidthClass, EniPattern, Family } from './families.ts';
import { comparableSize } from './sizes.ts';

type Eni = readonly [interfaces: number, addresses: number];

/**
 * Upper bounds of the columns below, in xlarge units. A size belongs to the first column whose bound is not smaller.
 */
const COLUMNS = [0.25, 0.5, 1, 2, 4, 9, 12, 18, 24, 32, 48];

/** Interfaces × addresses per interface. `-` marks columns without types. Larger sizes use the last column of a row. */
const ENIS: Readonly<Record<Exclude<EniPattern, 'T'>, string>> = {
  A: '2x4 3x10 4x15 4x15 8x30  8x30  8x30 15x50',
  B: '  - 3x20 4x30 4x30 8x50 10x50 12x50 16x64 16x64 24x64',
  C: '2x4 3x20 4x20 4x40 8x40 10x40 12x64 16x64 16x64 24x64',
  N: '2x4 3x10 4x15 4x15 8x30 10x30 12x30 16x50 24x50',
};

/** Baseline bandwidth in Mbit/s, in the same columns. Bare metal counts as the largest virtual size. */
const BANDWIDTH: Readonly<Record<Exclude<BandwidthClass, 'burst'>, string>> = {
  m5: '         -  750  1250  2500  5000  10000  12000  20000  25000',
  '6': '      390  781  1562  3125  6250  12500  18750  25000  37500  50000',
  graviton: ' 520  937  1875  3750  7500  15000  22500  30000  40000  50000',
  '8i': '       -  937  1875  3750  7500  15000  22500  30000  40000  50000 75000 100000',
  c6gn: '    1600 3000  6300 12500 25000  50000  75000 100000',
  c7gn: '    3125 6250 12500 25000 50000 100000 150000 200000',
  '6in': '      - 3125  6250 12500 25000  50000  75000 100000 150000 200000',
  gpu: '        -    -  2500  5000 10000  25000  40000  25000  50000 100000',
};

/** Burstable sizes: interfaces, addresses per interface, and bandwidth in Mbit/s. */
const BURSTABLE: Readonly<Record<string, readonly [interfaces: number, addresses: number, mbps: number]>> = {
  na: [2, 2, 32],
  mi: [2, 2, 64],
  sm: [3, 4, 128],
  md: [3, 6, 256],
  lg: [3, 12, 512],
  xl: [4, 15, 1024],
  '2': [4, 15, 2048],
};

/** Returns the cell of a row for a size in xlarge units, or an empty text if no type has this size. */
function cell(row: string, size: number): string {
  const cells = row.trim().split(/ +/);
  const column = COLUMNS.findIndex((bound) => size <= bound);
  const found = (column === -1 ? undefined : cells[column]) ?? cells.at(-1) ?? '-';
  return found === '-' ? '' : found;
}

/** Returns the network interfaces of the default card and the IPv4 addresses per interface. */
export function enisOf(family: Family, size: string): Eni {
  const cards = family.cards?.[size];
  if (cards) return [cards[1], 50];
  const special = family.eniOf?.[size];
  if (special) return special;
  if (family.enis === 'T') {
    const [interfaces, addresses] = BURSTABLE[size] ?? [2, 2];
    return [interfaces, addresses];
  }
  const [interfaces, addresses] = cell(ENIS[family.enis], comparableSize(family, size)).split('x').map(Number);
  return interfaces && addresses ? [interfaces, addresses] : [2, 2];
}

/** Bandwidth of types that do not follow the pattern, most of them with fast network cards. */
const FAST: Readonly<Record<string, number>> = {
  'p4d.24': 400_000,
  'p5.48': 3_200_000,
  'trn1.32': 800_000,
  'inf1.24': 100_000,
  'm7i-flex.lg': 390,
  'c7i-flex.lg': 390,
};

/** Returns the baseline bandwidth in Mbit/s. */
export function bandwidthMbps(family: Family, size: string): number {
  const fast = FAST[`${family.name}.${size}`];
  if (fast) return fast;
  if (family.bandwidth === 'burst') return BURSTABLE[size]?.[2] ?? 32;
  return Number(cell(BANDWIDTH[family.bandwidth], comparableSize(family, size))) || 500;
}
