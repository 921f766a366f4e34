/** User data of Bottlerocket: its settings as TOML, the user's merged with ours. */
import { parse, stringify, type TomlTable } from 'smol-toml';
import type { Logger } from '../../observe/logger.ts';
import { type Bootstrap, InvalidUserData } from './input.ts';

/** Settings under `settings.kubernetes` that Bottlerocket knows; it refuses to boot with others. */
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

/** From this version on, `ephemeral-storage bind` knows its directories itself. */
const BINDS_BY_ITSELF: readonly [major: number, minor: number] = [1, 46];
const BOUND_DIRECTORIES = ['/var/lib/containerd', '/var/lib/kubelet', '/var/log/pods'];

type Value = TomlTable[string];
const isTable = (value: Value | undefined): value is TomlTable =>
  typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date);
const table = (value: Value | undefined): TomlTable => (isTable(value) ? value : {});

function parseCustom(custom: string | undefined): TomlTable {
  try {
    return table(parse(custom ?? '').settings);
  } catch (error) {
    throw new InvalidUserData(`invalid UserData ${(error as Error).message}`, { cause: error });
  }
}

/** Only what is set; each replaces the user's value as a whole. */
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

function kubernetesSettings(user: TomlTable, bootstrap: Bootstrap, log: Logger): TomlTable {
  const { cluster, kubelet, labels, taints } = bootstrap;
  const unknown = Object.keys(user).filter((key) => !KUBERNETES_KEYS.has(key));
  if (unknown.length > 0) log.error('ignoring unknown keys of settings.kubernetes in user data', { keys: unknown });
  const known = Object.fromEntries(Object.entries(user).filter(([key]) => KUBERNETES_KEYS.has(key)));
  const { 'cluster-certificate': _, ...rest } = known;
  const byKey = Map.groupBy(taints, (taint) => taint.key);
  return {
    ...rest,
    ...kubeletSettings(bootstrap),
    'api-server': cluster.endpoint,
    'cluster-name': cluster.name,
    ...(cluster.caBundle === undefined ? {} : { 'cluster-certificate': cluster.caBundle }),
    ...(typeof kubelet.maxPods === 'number' ? { 'max-pods': kubelet.maxPods } : {}),
    'node-labels': { ...table(known['node-labels']), ...labels },
    'node-taints': Object.fromEntries(
      [...byKey].map(([key, each]) => [key, each.map(({ value = '', effect }) => `${value}:${effect}`)]),
    ),
  };
}

/** Unknown versions count as old, which works on new ones too. */
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
    ...table(user['bootstrap-commands']),
    ...(bootstrap.raid0 ? { '000-mount-instance-storage': mountCommand(bootstrap.imageVersion) } : {}),
  };
  return stringify({
    settings: {
      ...user,
      ...(Object.keys(commands).length === 0 ? {} : { 'bootstrap-commands': commands }),
      kubernetes: kubernetesSettings(table(user.kubernetes), bootstrap, log),
    },
  });
}
