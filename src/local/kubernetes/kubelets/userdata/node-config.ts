/** The NodeConfig of AL2023's nodeadm. */

import { parse } from 'yaml';
import type { Taint } from '../../../../api/kubernetes.ts';
import { isObject } from '../../../../lib/json-object.ts';
import { own, put } from '../../../../lib/own.ts';
import { shellWords } from '../../../../lib/shell-words.ts';
import { type KubeletConfig, stringMap, taintOf, wholeNumber } from './config.ts';
import { configOfFlags, options } from './flags.ts';

export const NODE_CONFIG_TYPE = 'application/node.eks.aws';

interface NodeConfig {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly spec?: {
    readonly cluster?: { readonly name?: string; readonly apiServerEndpoint?: string };
    readonly instance?: { readonly localStorage?: { readonly strategy?: string } };
    readonly kubelet?: { readonly config?: Readonly<Record<string, unknown>>; readonly flags?: readonly string[] };
  };
}

export const isNodeConfig = (text: string): boolean =>
  /^kind:\s*NodeConfig\s*$/m.test(text) && /^apiVersion:\s*node\.eks\.aws\//m.test(text);

/** Merges NodeConfigs as the node does: maps recursively, other values by replacement. */
function merge(left: unknown, right: unknown): unknown {
  if (!isObject(left) || !isObject(right)) return right ?? left;
  const merged: Record<string, unknown> = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const before = own(merged, key);
    const isAdded = key === 'flags' && Array.isArray(before) && Array.isArray(value);
    put(merged, key, isAdded ? [...before, ...value] : merge(before, value));
  }
  return merged;
}

function taintsOf(value: unknown): Taint[] {
  if (!Array.isArray(value)) return [];
  return value.map((one: { key?: string; value?: string; effect?: string }) =>
    taintOf(one.key ?? '', one.value ?? '', one.effect ?? '', JSON.stringify(one)),
  );
}

/**
 * Reads NodeConfig documents. Later documents have precedence.
 * @throws Error if a document is not valid YAML or a taint is malformed
 */
export function nodeConfig(documents: readonly string[]): KubeletConfig {
  const { spec } = documents.map((text) => parse(text) as unknown).reduce(merge, {}) as NodeConfig;
  const flags = configOfFlags(options((spec?.kubelet?.flags ?? []).flatMap(shellWords)));
  const config = spec?.kubelet?.config ?? {};
  const maxPods = wholeNumber(config.maxPods) ?? flags.maxPods;
  const podsPerCore = wholeNumber(config.podsPerCore) ?? flags.podsPerCore;
  return {
    ...flags,
    ...(spec?.cluster?.name === undefined ? {} : { clusterName: spec.cluster.name }),
    ...(spec?.cluster?.apiServerEndpoint === undefined ? {} : { endpoint: spec.cluster.apiServerEndpoint }),
    taints: [...taintsOf(config.registerWithTaints), ...flags.taints],
    kubeReserved: { ...stringMap(config.kubeReserved), ...flags.kubeReserved },
    systemReserved: { ...stringMap(config.systemReserved), ...flags.systemReserved },
    evictionHard: { ...stringMap(config.evictionHard), ...flags.evictionHard },
    raid0: spec?.instance?.localStorage?.strategy === 'RAID0',
    ...(maxPods === undefined ? {} : { maxPods }),
    ...(podsPerCore === undefined ? {} : { podsPerCore }),
  };
}
