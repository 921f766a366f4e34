/** Reads a machine's user data as its image does. */
import { parse as parseToml } from 'smol-toml';
import { parse } from 'yaml';
import type { Taint } from '#api/objects';
import { isObject, own, put, shellWords } from '#lib';
import { hugePages, type KubeletConfig, stringMap, taintOf, wholeNumber } from './config.ts';
import { anyScript, bootstrapScript, configOfFlags, options, powershell } from './flags.ts';

type Table = Readonly<Record<string, unknown>>;

const isBottlerocket = (text: string): boolean => /^[ \t]*\[settings[.\]]/m.test(text);

const tableOf = (value: unknown): Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Table) : {};

/** Each key of `node-taints` has one `value:Effect` or a list of them. */
function taintsOfTable(table: Table): Taint[] {
  return Object.entries(table).flatMap(([key, written]) =>
    (Array.isArray(written) ? written : [written]).map((one) => {
      const text = String(one);
      const colon = text.lastIndexOf(':');
      return taintOf(key, text.slice(0, Math.max(0, colon)), text.slice(colon + 1), `${key}=${text}`);
    }),
  );
}

/** @throws Error if the text is not valid TOML or a taint is malformed */
function bottlerocket(text: string): KubeletConfig {
  const settings = tableOf(parseToml(text).settings);
  const kubernetes = tableOf(settings.kubernetes);
  const maxPods = wholeNumber(kubernetes['max-pods']);
  const [name, endpoint] = [kubernetes['cluster-name'], kubernetes['api-server']];
  return {
    ...(typeof name === 'string' ? { clusterName: name } : {}),
    ...(typeof endpoint === 'string' ? { endpoint } : {}),
    labels: stringMap(kubernetes['node-labels']),
    taints: taintsOfTable(tableOf(kubernetes['node-taints'])),
    kubeReserved: stringMap(kubernetes['kube-reserved']),
    systemReserved: stringMap(kubernetes['system-reserved']),
    evictionHard: stringMap(kubernetes['eviction-hard']),
    raid0: JSON.stringify(settings['bootstrap-commands'] ?? '').includes('ephemeral-storage'),
    dataDevice: '/dev/xvdb',
    ...(maxPods === undefined ? {} : { maxPods }),
  };
}

interface Part {
  readonly contentType: string;
  readonly body: string;
}

const isMime = (text: string): boolean => /^\s*(MIME-Version|Content-Type):/i.test(text);

function splitHead(text: string): { head: string; body: string } {
  const blank = /\n[ \t]*\n/.exec(text);
  return blank
    ? { head: text.slice(0, blank.index), body: text.slice(blank.index + blank[0].length) }
    : { head: text, body: '' };
}

const headerOf = (head: string, name: string): string =>
  new RegExp(`^${name}:\\s*(.*)$`, 'im').exec(head)?.[1]?.trim() ?? '';

/**
 * Splits a multi-part message. The final boundary may be missing.
 * @throws Error if the boundary is missing
 */
function mimeParts(text: string): readonly Part[] {
  const { head, body } = splitHead(text.replaceAll('\r', '').trimStart());
  const boundary = /boundary="?([^";\n]+)"?/i.exec(head)?.[1];
  if (boundary === undefined) throw new Error('Cannot read user data: its MIME header has no boundary');
  const parts: string[] = [];
  let current: string[] | undefined;
  for (const line of body.split('\n')) {
    const mark = line.trimEnd();
    if (mark === `--${boundary}` || mark === `--${boundary}--`) {
      if (current) parts.push(current.join('\n'));
      if (mark.length > boundary.length + 2) return parts.map(partOf);
      current = [];
    } else current?.push(line);
  }
  if (current) parts.push(current.join('\n'));
  return parts.map(partOf);
}

function partOf(text: string): Part {
  const { head, body } = splitHead(text);
  return { contentType: headerOf(head, 'Content-Type').split(';')[0]?.trim() ?? '', body };
}

export type { KubeletConfig } from './config.ts';

/**
 * Parses the kubelet configuration in decoded user data: AL2023 NodeConfig (alone or in MIME parts), Bottlerocket TOML,
 * AL2's bootstrap.sh, Windows' PowerShell, or any script with kubelet flags.
 *
 * @throws Error if the user data is malformed. Such a machine never joins.
 */
export function decodeUserData(text: string): KubeletConfig {
  const pages = hugePages(text);
  const config = kubeletSettings(text);
  return pages['2Mi'] + pages['1Gi'] === 0 ? config : { ...config, hugePages: pages };
}

function kubeletSettings(text: string): KubeletConfig {
  const parts = isMime(text) ? mimeParts(text) : [{ contentType: '', body: text }];
  const configs = parts.filter(({ contentType, body }) => contentType === NODE_CONFIG_TYPE || isNodeConfig(body));
  if (configs.length > 0) return nodeConfig(configs.map(({ body }) => body));
  if (parts.length === 1 && isBottlerocket(text)) return bottlerocket(text);
  for (const { body } of parts.toReversed()) {
    const known = bootstrapScript(body) ?? powershell(body);
    if (known) return known;
  }
  return anyScript(parts.map(({ body }) => body).join('\n'));
}

/** The NodeConfig of AL2023's nodeadm. */
const NODE_CONFIG_TYPE = 'application/node.eks.aws';

interface NodeConfig {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly spec?: {
    readonly cluster?: { readonly name?: string; readonly apiServerEndpoint?: string };
    readonly instance?: { readonly localStorage?: { readonly strategy?: string } };
    readonly kubelet?: { readonly config?: Readonly<Record<string, unknown>>; readonly flags?: readonly string[] };
  };
}

const isNodeConfig = (text: string): boolean =>
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
function nodeConfig(documents: readonly string[]): KubeletConfig {
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
