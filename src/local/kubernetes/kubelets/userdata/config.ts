/** Kubelet configuration in a machine's user data. */
import type { Taint, TaintEffect } from '../../../../api/kubernetes.ts';
import { put } from '../../../../lib/own.ts';
import type { HugePages } from './huge-pages.ts';

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
