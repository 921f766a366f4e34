/** Interfaces, addresses and bandwidth per size of a family. */
import type { BandwidthClass, EniPattern, Family } from './families.ts';
import { comparableSize } from './sizes.ts';

type Eni = readonly [interfaces: number, addresses: number];

/** Steps of a pattern: the first whose bound is not below the size (in xlarge units) holds. */
type Steps<T> = readonly (readonly [bound: number, value: T])[];

const PATTERNS: Readonly<Record<Exclude<EniPattern, 'T'>, Steps<Eni>>> = {
  A: [
    [0.25, [2, 4]],
    [0.5, [3, 10]],
    [2, [4, 15]],
    [12, [8, 30]],
    [Number.POSITIVE_INFINITY, [15, 50]],
  ],
  B: [
    [0.5, [3, 20]],
    [2, [4, 30]],
    [4, [8, 50]],
    [8, [10, 50]],
    [12, [12, 50]],
    [24, [16, 64]],
    [Number.POSITIVE_INFINITY, [24, 64]],
  ],
  C: [
    [0.25, [2, 4]],
    [0.5, [3, 20]],
    [1, [4, 20]],
    [2, [4, 40]],
    [4, [8, 40]],
    [8, [10, 40]],
    [12, [12, 64]],
    [24, [16, 64]],
    [Number.POSITIVE_INFINITY, [24, 64]],
  ],
  N: [
    [0.25, [2, 4]],
    [0.5, [3, 10]],
    [2, [4, 15]],
    [4, [8, 30]],
    [8, [10, 30]],
    [12, [12, 30]],
    [16, [16, 50]],
    [Number.POSITIVE_INFINITY, [24, 50]],
  ],
};

const BURSTABLE: Readonly<Record<string, Eni>> = {
  na: [2, 2],
  mi: [2, 2],
  sm: [3, 4],
  md: [3, 6],
  lg: [3, 12],
  xl: [4, 15],
  '2': [4, 15],
};

const at = <T>(steps: Steps<T>, size: number): T | undefined => steps.find(([bound]) => size <= bound)?.[1];

/** Network interfaces of the default card and IPv4 addresses on each. */
export function enisOf(family: Family, size: string): Eni {
  const cards = family.cards?.[size];
  if (cards) return [cards[1], 50];
  const special = family.eniOf?.[size];
  if (special) return special;
  const usual = family.enis === 'T' ? BURSTABLE[size] : at(PATTERNS[family.enis], comparableSize(family, size));
  return usual ?? [2, 2];
}

/** Baseline megabits a second, by xlarge units. Metal counts as the largest virtual size. */
const BANDWIDTH: Readonly<Record<Exclude<BandwidthClass, 'burst'>, Steps<number>>> = {
  m5: [
    [0.5, 750],
    [1, 1250],
    [2, 2500],
    [4, 5000],
    [9, 10_000],
    [12, 12_000],
    [18, 20_000],
    [Number.POSITIVE_INFINITY, 25_000],
  ],
  '6': [
    [0.25, 390],
    [0.5, 781],
    [1, 1562],
    [2, 3125],
    [4, 6250],
    [8, 12_500],
    [12, 18_750],
    [16, 25_000],
    [24, 37_500],
    [Number.POSITIVE_INFINITY, 50_000],
  ],
  graviton: [
    [0.25, 520],
    [0.5, 937],
    [1, 1875],
    [2, 3750],
    [4, 7500],
    [8, 15_000],
    [12, 22_500],
    [16, 30_000],
    [24, 40_000],
    [Number.POSITIVE_INFINITY, 50_000],
  ],
  '8i': [
    [0.5, 937],
    [1, 1875],
    [2, 3750],
    [4, 7500],
    [8, 15_000],
    [12, 22_500],
    [16, 30_000],
    [24, 40_000],
    [32, 50_000],
    [48, 75_000],
    [Number.POSITIVE_INFINITY, 100_000],
  ],
  c6gn: [
    [0.25, 1600],
    [0.5, 3000],
    [1, 6300],
    [2, 12_500],
    [4, 25_000],
    [9, 50_000],
    [12, 75_000],
    [Number.POSITIVE_INFINITY, 100_000],
  ],
  c7gn: [
    [0.25, 3125],
    [0.5, 6250],
    [1, 12_500],
    [2, 25_000],
    [4, 50_000],
    [8, 100_000],
    [12, 150_000],
    [Number.POSITIVE_INFINITY, 200_000],
  ],
  '6in': [
    [0.5, 3125],
    [1, 6250],
    [2, 12_500],
    [4, 25_000],
    [8, 50_000],
    [12, 75_000],
    [16, 100_000],
    [24, 150_000],
    [Number.POSITIVE_INFINITY, 200_000],
  ],
  gpu: [
    [1, 2500],
    [2, 5000],
    [4, 10_000],
    [8, 25_000],
    [12, 40_000],
    [16, 25_000],
    [24, 50_000],
    [Number.POSITIVE_INFINITY, 100_000],
  ],
};

const BURSTABLE_MBPS: Readonly<Record<string, number>> = {
  na: 32,
  mi: 64,
  sm: 128,
  md: 256,
  lg: 512,
  xl: 1024,
  '2': 2048,
};

/** Types with fast cards, whose figures follow no pattern. */
const FAST: Readonly<Record<string, number>> = {
  'p4d.24': 400_000,
  'p5.48': 3_200_000,
  'trn1.32': 800_000,
  'inf1.24': 100_000,
  'm7i-flex.lg': 390,
  'c7i-flex.lg': 390,
};

/** Baseline bandwidth in megabits a second. */
export function bandwidthMbps(family: Family, size: string): number {
  const fast = FAST[`${family.name}.${size}`];
  if (fast) return fast;
  if (family.bandwidth === 'burst') return BURSTABLE_MBPS[size] ?? 32;
  return at(BANDWIDTH[family.bandwidth], comparableSize(family, size)) ?? 500;
}
