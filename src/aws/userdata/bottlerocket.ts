/** User data of Bottlerocket: TOML settings, merged from the custom settings and the settings of the provider. */
import { LRUCache } from 'lru-cache';
import { parse, stringify, TomlError, type TomlTable } from 'smol-toml';
import { defined, own } from '#lib';
import type { Logger } from '#observe/logger';
import { type Bootstrap, InvalidUserData } from './input.ts';

/** Valid settings under `settings.kubernetes`. Bottlerocket does not boot with other settings. */
const KUBERNETES_KEYS = new Set(
  `api-server cloud-provider cluster-certificate cluster-name cluster-dns-ip credential-providers node-labels
  node-taints max-pods static-pods eviction-hard eviction-soft eviction-soft-grace-period
  eviction-max-pod-grace-period kube-reserved system-reserved allowed-unsafe-sysctls server-tls-bootstrap registry-qps
  registry-burst event-qps event-burst kube-api-qps kube-api-burst container-log-max-size container-log-max-files
  cpu-manager-policy cpu-manager-policy-options cpu-manager-reconcile-period memory-manager-policy
  memory-manager-reserved-memory topology-manager-scope topology-manager-policy topology-manager-policy-options
  image-gc-high-threshold-percent image-gc-low-threshold-percent ids-per-pod cpu-cfs-quota-enforced
  shutdown-grace-period shutdown-grace-period-for-critical-pods cluster-domain seccomp-default pod-pids-limit
  device-ownership-from-security-context single-process-oom-kill container-log-max-workers
  container-log-monitor-interval hostname-override-source log-level`.split(/\s+/),
);

/** Members of settings that are tables. Members of other tables are not checked. */
const MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  'static-pods': new Set(['enabled', 'manifest']),
  'credential-providers': new Set(['enabled', 'cache-duration', 'image-patterns', 'environment']),
  'memory-manager-reserved-memory': new Set(['enabled', 'memory', 'hugepages-2Mi', 'hugepages-1Gi']),
};
const TOPOLOGY_OPTIONS = new Set(['prefer-closest-numa-nodes', 'max-allowable-numa-nodes']);
const COMMAND_MEMBERS = new Set(['commands', 'mode', 'essential']);

/** First version in which `ephemeral-storage bind` has default directories. */
const BINDS_BY_ITSELF: readonly [major: number, minor: number] = [1, 46];
const BOUND_DIRECTORIES = ['/var/lib/containerd', '/var/lib/kubelet', '/var/log/pods'];

type Value = TomlTable[string];
const isTable = (value: Value | undefined): value is TomlTable =>
  typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date);
const table = (value: Value | undefined): TomlTable => (isTable(value) ? value : {});

/** Cached, because the templates of one launch share their custom user data. */
const parsed = new LRUCache<string, TomlTable>({ max: 20 });

function parseCustom(custom = ''): TomlTable {
  try {
    const settings = parsed.get(custom) ?? table(parse(custom).settings);
    parsed.set(custom, settings);
    return settings;
  } catch (error) {
    throw new InvalidUserData(`invalid UserData ${withoutExcerpt(error)}`);
  }
}

/** Returns the parser's message without the lines around the error, which may contain secrets. */
function withoutExcerpt(error: unknown): string {
  const [message = ''] = (error as Error).message.split('\n', 1);
  return error instanceof TomlError ? `${message} (line ${error.line}, column ${error.column})` : message;
}

/** Returns the kubelet settings that are set. Each replaces the custom value completely. */
function kubeletSettings({ kubelet }: Bootstrap): TomlTable {
  const settings: Readonly<Record<string, Value | undefined>> = {
    'cluster-dns-ip': kubelet.clusterDNS?.[0],
    'system-reserved': kubelet.systemReserved,
    'kube-reserved': kubelet.kubeReserved,
    'eviction-hard': kubelet.evictionHard,
    'eviction-soft': kubelet.evictionSoft,
    'eviction-soft-grace-period': kubelet.evictionSoftGracePeriod,
    'eviction-max-pod-grace-period': kubelet.evictionMaxPodGracePeriod,
    'image-gc-high-threshold-percent': kubelet.imageGCHighThresholdPercent?.toString(),
    'image-gc-low-threshold-percent': kubelet.imageGCLowThresholdPercent?.toString(),
    'cpu-cfs-quota-enforced': kubelet.cpuCFSQuota,
  };
  const set: TomlTable = {};
  for (const [key, value] of Object.entries(settings)) if (value !== undefined) set[key] = value;
  return set;
}

/** Returns the known members, and adds the names of other members to `dropped`. */
function pick(value: TomlTable, known: ReadonlySet<string>, path: string, dropped: string[]): TomlTable {
  dropped.push(
    ...Object.keys(value)
      .filter((key) => !known.has(key))
      .map((key) => path + key),
  );
  return Object.fromEntries(Object.entries(value).filter(([key]) => known.has(key)));
}

/** Returns a table of tables with only the known members of each table. */
const pickEach = (value: Value, known: ReadonlySet<string>, path: string, dropped: string[]): TomlTable =>
  Object.fromEntries(
    Object.entries(table(value)).map(([name, each]) => [
      name,
      isTable(each) ? pick(each, known, `${path}${name}.`, dropped) : each,
    ]),
  );

/** Returns the custom settings that Bottlerocket supports. */
function knownSettings(user: TomlTable, log: Logger): TomlTable {
  const dropped: string[] = [];
  const settings = pick(user, KUBERNETES_KEYS, '', dropped);
  for (const [key, value] of Object.entries(settings)) {
    const members = own(MEMBERS, key);
    if (members !== undefined) settings[key] = pickEach(value, members, `${key}.`, dropped);
    else if (key === 'topology-manager-policy-options' && isTable(value))
      settings[key] = pick(value, TOPOLOGY_OPTIONS, `${key}.`, dropped);
  }
  if (dropped.length > 0) log.error('ignoring unknown keys of settings.kubernetes in user data', { keys: dropped });
  return settings;
}

function kubernetesSettings(user: TomlTable, bootstrap: Bootstrap, log: Logger): TomlTable {
  const { cluster, kubelet, labels, taints } = bootstrap;
  const known = knownSettings(user, log);
  const { 'cluster-certificate': _, ...rest } = known;
  const byKey = Map.groupBy(taints, (taint) => taint.key);
  return {
    ...rest,
    ...kubeletSettings(bootstrap),
    'api-server': cluster.endpoint,
    'cluster-name': cluster.name,
    ...defined({ 'cluster-certificate': cluster.caBundle }),
    ...(typeof kubelet.maxPods === 'number' ? { 'max-pods': kubelet.maxPods } : {}),
    'node-labels': { ...table(known['node-labels']), ...labels },
    'node-taints': Object.fromEntries(
      [...byKey].map(([key, each]) => [key, each.map(({ value = '', effect }) => `${value}:${effect}`)]),
    ),
  };
}

/**
 * Returns true if the version binds directories by default. Unknown versions count as old, because the old command
 * also works on new versions.
 */
function bindsByItself(version: string | undefined): boolean {
  if (version === 'latest') return true;
  const parts = (version ?? '').replace(/^v+/, '').split('.');
  if (parts.length < 3) return false;
  const [major = 0, minor = 0] = parts.map(Number);
  return major > BINDS_BY_ITSELF[0] || (major === BINDS_BY_ITSELF[0] && minor >= BINDS_BY_ITSELF[1]);
}

function mountCommand(version: string | undefined): TomlTable {
  const directories = bindsByItself(version) ? [] : ['--dirs', ...BOUND_DIRECTORIES];
  return {
    commands: [
      ['apiclient', 'ephemeral-storage', 'init'],
      ['apiclient', 'ephemeral-storage', 'bind', ...directories],
    ],
    mode: 'always',
    essential: true,
  };
}

/** @throws InvalidUserData */
export function bottlerocketUserData(bootstrap: Bootstrap, log: Logger): string {
  const user = parseCustom(bootstrap.custom);
  const commands = {
    ...pickEach(user['bootstrap-commands'] ?? {}, COMMAND_MEMBERS, '', []),
    ...(bootstrap.raid0 ? { '000-mount-instance-storage': mountCommand(bootstrap.imageVersion) } : {}),
  };
  const settings = {
    ...user,
    ...(Object.keys(commands).length === 0 ? {} : { 'bootstrap-commands': commands }),
    kubernetes: kubernetesSettings(table(user.kubernetes), bootstrap, log),
  };
  return tomlText({ settings }, keyOrder);
}

/**
 * Returns the order of keys of tables with known members.
 * @param path begins at the root
 */
function keyOrder(path: string): readonly string[] | undefined {
  const [, section = '', name = '', ...deeper] = path.split('.');
  if (section === 'bootstrap-commands') return name === '' ? undefined : [...COMMAND_MEMBERS];
  if (section !== 'kubernetes' || deeper.length > 1) return undefined;
  if (name === '') return [...KUBERNETES_KEYS];
  const members = name === 'topology-manager-policy-options' ? TOPOLOGY_OPTIONS : own(MEMBERS, name);
  return members === undefined ? undefined : [...members];
}

/** Settings are never nested deeper, and deeper tables would overflow the stack. */
const MAX_DEPTH = 100;

const BARE_KEY = /^[A-Za-z0-9_-]+$/;
/** A literal string has no escapes, so it must not contain its quote or control characters. */
const LITERAL = /^[^'\p{Cc}]*$/u;

const isTables = (value: Value): value is TomlTable[] =>
  Array.isArray(value) && value.length > 0 && value.every(isTable);

/**
 * Returns the text of a table and all its subtables in the format that Karpenter uses: literal strings, values of a table before
 * its subtables, and an empty line before each table that follows values. Nodes accept any format, but users compare the text.
 * @param order returns the order of keys for a path such as `settings.kubernetes`; other keys are sorted by name
 * @throws InvalidUserData if tables are nested too deeply
 */
export function tomlText(root: TomlTable, order: (path: string) => readonly string[] | undefined): string {
  const lines: string[] = [];
  const header = (line: string): void => {
    // Only after values, and not after the header of the parent table.
    if (lines.length > 0 && !lines.at(-1)?.startsWith('[')) lines.push('');
    lines.push(line);
  };
  const write = (table: TomlTable, path: readonly string[]): void => {
    if (path.length > MAX_DEPTH) throw new InvalidUserData(`its tables are nested more than ${MAX_DEPTH} deep`);
    const entries = inOrder(table, order(path.join('.')));
    const inside = entries.filter(([, value]) => isTable(value) || isTables(value));
    for (const entry of entries)
      if (!inside.includes(entry)) lines.push(`${keyText(entry[0])} = ${valueText(entry[1])}`);
    for (const [key, value] of inside) {
      const below = [...path, key];
      const name = below.map(keyText).join('.');
      for (const each of isTable(value) ? [value] : (value as TomlTable[])) {
        header(isTable(value) ? `[${name}]` : `[[${name}]]`);
        write(each, below);
      }
    }
  };
  write(root, []);
  return `${lines.join('\n')}\n`;
}

function inOrder(table: TomlTable, order: readonly string[] = []): [string, Value][] {
  const rank = (key: string): number => (order.includes(key) ? order.indexOf(key) : order.length);
  return Object.entries(table).sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

const keyText = (key: string): string => (BARE_KEY.test(key) ? key : stringText(key));

const stringText = (text: string): string => (LITERAL.test(text) ? `'${text}'` : scalarText(text));

function valueText(value: Value): string {
  if (typeof value === 'string') return stringText(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (!isTable(value)) return scalarText(value);
  const members = Object.entries(value).map(([key, each]) => `${keyText(key)} = ${valueText(each)}`);
  return `{ ${members.join(', ')} }`;
}

/** Uses the format of the library, with escapes if it is a string. */
const scalarText = (value: Value): string => stringify({ value }).trim().slice('value = '.length);
