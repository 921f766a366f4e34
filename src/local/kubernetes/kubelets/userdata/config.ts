/** Kubelet configuration in a machine's user data. */
import type { Taint, TaintEffect } from '#api/objects';
import { put } from '#lib';

export interface KubeletConfig {
  /** Undefined if the user data leaves it to the image, as kOps does. */
  readonly clusterName?: string;
  readonly endpoint?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly maxPods?: number;
  readonly podsPerCore?: number;
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly evictionHard: Readonly<Record<string, string>>;
  /** True if the image combines local disks into one volume for pods. */
  readonly raid0?: boolean;
  readonly hugePages?: HugePages;
  /** Device of Bottlerocket's second volume, which contains the data of pods. */
  readonly dataDevice?: string;
}

export const NO_CONFIG: KubeletConfig = {
  labels: {},
  taints: [],
  kubeReserved: {},
  systemReserved: {},
  evictionHard: {},
};

const EFFECTS: ReadonlySet<string> = new Set<TaintEffect>(['NoSchedule', 'PreferNoSchedule', 'NoExecute']);

/** Parses `key=value` pairs separated by commas, with `=` or another separator between key and value. */
export function parsePairs(text: string, mark = '='): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of text.split(',')) {
    const at = pair.indexOf(mark);
    if (at > 0) put(pairs, pair.slice(0, at).trim(), pair.slice(at + mark.length).trim());
    else if (pair.trim() !== '') put(pairs, pair.trim(), '');
  }
  return pairs;
}

/**
 * Parses `key=value:Effect` or `key:Effect`, separated by commas.
 * @throws Error that quotes a taint without a valid effect
 */
export function parseTaints(text: string): Taint[] {
  return text
    .split(',')
    .filter((one) => one.trim() !== '')
    .map((one) => {
      const [, key = '', value = '', effect = ''] = /^([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(one.trim()) ?? [];
      return taintOf(key, value, effect, one);
    });
}

export function taintOf(key: string, value: string, effect: string, written: string): Taint {
  if (!EFFECTS.has(effect)) throw new Error(`Cannot read taint "${written}": it must be key=value:Effect`);
  return { key, effect: effect as TaintEffect, ...(value === '' ? {} : { value }) };
}

/** Reads a number from a setting that may be text in TOML or shell. */
export function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) ? number : undefined;
}

export function stringMap(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, String(one)]));
}

/** Number of pages by size, as in resource names. */
interface HugePages {
  readonly '2Mi': number;
  readonly '1Gi': number;
}

const FILES: readonly (readonly [size: keyof HugePages, pattern: RegExp])[] = [
  ['2Mi', /\bvm\.nr_hugepages"?\s*=\s*"?(\d+)/g],
  ['2Mi', /\becho\s+"?(\d+)"?\s*(?:>|\|\s*(?:sudo\s+)?tee)\s*\/proc\/sys\/vm\/nr_hugepages\b/g],
  ['2Mi', /\becho\s+"?(\d+)"?\s*(?:>|\|\s*(?:sudo\s+)?tee)\s*\S*\/hugepages-2048kB\/nr_hugepages\b/g],
  ['1Gi', /\becho\s+"?(\d+)"?\s*(?:>|\|\s*(?:sudo\s+)?tee)\s*\S*\/hugepages-1048576kB\/nr_hugepages\b/g],
];

const KERNEL_SIZES: Readonly<Record<string, keyof HugePages>> = { '2M': '2Mi', '1G': '1Gi' };

/** Reads `sysctl`, `/proc`, `/sys` and kernel parameters. The last setting wins. */
export function hugePages(userData: string): HugePages {
  const pages = { '2Mi': 0, '1Gi': 0 };
  for (const [size, pattern] of FILES) for (const [, count] of userData.matchAll(pattern)) pages[size] = Number(count);
  for (const [, size = '', count] of userData.matchAll(/\bhugepagesz=(2M|1G)\s+hugepages=(\d+)/g))
    pages[KERNEL_SIZES[size] ?? '2Mi'] = Number(count);
  return pages;
}
