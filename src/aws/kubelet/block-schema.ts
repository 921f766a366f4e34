/**
 * The shape of the upstream KubeletConfiguration (kubelet.config.k8s.io/v1beta1), and how a block departs from it. Errors
 * are worded as the Kubernetes decoder words them.
 */

import { parseDuration } from '../../api/duration.ts';
import { own } from '../../lib/own.ts';

type Scalar = 'string' | 'bool' | 'int32' | 'int64' | 'uint32' | 'float64' | 'Duration' | 'Quantity' | 'any';
/** A list has one member, a map one named `*`, a struct all of its fields. */
type Shape = Scalar | readonly [Shape] | { readonly [field: string]: Shape };

const STRINGS: Shape = ['string'];
const STRING_MAP: Shape = { '*': 'string' };
const LOG_OPTIONS: Shape = { splitStream: 'bool', infoBufferSize: 'Quantity' };

/** Fields of one type, separated by white space. */
const fields = <T extends Shape>(shape: T, names: string): Readonly<Record<string, T>> =>
  Object.fromEntries(names.split(/\s+/).map((name) => [name, shape]));

const KUBELET_CONFIGURATION: Shape = {
  ...fields(
    'string',
    `apiVersion kind address staticPodPath podLogsDir staticPodURL tlsCertFile tlsPrivateKeyFile tlsMinVersion
    imagePullCredentialsVerificationPolicy healthzBindAddress clusterDomain kubeletCgroups systemCgroups cgroupRoot
    cgroupDriver cpuManagerPolicy memoryManagerPolicy topologyManagerPolicy topologyManagerScope hairpinMode podCIDR
    resolvConf contentType containerLogMaxSize configMapAndSecretChangeDetectionStrategy reservedSystemCPUs
    showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup volumePluginDir providerID
    containerRuntimeEndpoint imageServiceEndpoint`,
  ),
  ...fields(
    'bool',
    `enableServer rotateCertificates serverTLSBootstrap enableDebuggingHandlers enableContentionProfiling cgroupsPerQOS
    singleProcessOOMKill runOnce cpuCFSQuota serializeImagePulls mergeDefaultEvictionSettings
    enableControllerAttachDetach protectKernelDefaults makeIPTablesUtilChains failSwapOn kernelMemcgNotification
    enableSystemLogHandler enableSystemLogQuery enableProfilingHandler enableDebugFlagsHandler seccompDefault
    registerNode localStorageCapacityIsolation failCgroupV1`,
  ),
  ...fields(
    'int32',
    `port readOnlyPort registryPullQPS registryBurst eventRecordQPS eventBurst healthzPort oomScoreAdj
    nodeLeaseDurationSeconds imageGCHighThresholdPercent imageGCLowThresholdPercent maxPods nodeStatusMaxImages
    kubeAPIQPS kubeAPIBurst maxParallelImagePulls evictionMaxPodGracePeriod podsPerCore iptablesMasqueradeBit
    iptablesDropBit containerLogMaxFiles containerLogMaxWorkers`,
  ),
  ...fields('int64', 'podPidsLimit maxOpenFiles'),
  ...fields(
    'Duration',
    `syncFrequency fileCheckFrequency httpCheckFrequency streamingConnectionIdleTimeout nodeStatusUpdateFrequency
    nodeStatusReportFrequency imageMinimumGCAge imageMaximumGCAge volumeStatsAggPeriod cpuManagerReconcilePeriod
    runtimeRequestTimeout cpuCFSQuotaPeriod evictionPressureTransitionPeriod containerLogMonitorInterval
    shutdownGracePeriod shutdownGracePeriodCriticalPods`,
  ),
  ...fields(
    STRINGS,
    'tlsCipherSuites clusterDNS preloadedImagesVerificationAllowlist enforceNodeAllocatable allowedUnsafeSysctls',
  ),
  ...fields(
    STRING_MAP,
    `cpuManagerPolicyOptions topologyManagerPolicyOptions qosReserved evictionHard evictionSoft evictionSoftGracePeriod
    evictionMinimumReclaim systemReserved kubeReserved`,
  ),
  tlsCurvePreferences: 'any',
  memoryThrottlingFactor: 'float64',
  featureGates: { '*': 'bool' },
  staticPodURLHeader: { '*': STRINGS },
  authentication: {
    x509: { clientCAFile: 'string' },
    webhook: { enabled: 'bool', cacheTTL: 'Duration' },
    anonymous: { enabled: 'bool' },
  },
  authorization: {
    mode: 'string',
    webhook: { cacheAuthorizedTTL: 'Duration', cacheUnauthorizedTTL: 'Duration' },
  },
  memorySwap: { swapBehavior: 'string' },
  logging: {
    format: 'string',
    // Either a duration or a number of nanoseconds.
    flushFrequency: 'any',
    verbosity: 'uint32',
    vmodule: [{ filePattern: 'string', verbosity: 'uint32' }],
    options: { text: LOG_OPTIONS, json: LOG_OPTIONS },
  },
  shutdownGracePeriodByPodPriority: [{ priority: 'int32', shutdownGracePeriodSeconds: 'int64' }],
  crashLoopBackOff: { maxContainerRestartPeriod: 'Duration' },
  reservedMemory: [{ numaNode: 'int32', limits: { '*': 'Quantity' } }],
  registerWithTaints: [{ key: 'string', value: 'string', effect: 'string', timeAdded: 'any' }],
  tracing: { endpoint: 'string', samplingRatePerMillion: 'int32' },
  userNamespaces: { idsPerPod: 'int64' },
};

/** A field of a block: a scalar or a list of scalars (`true`), a map of scalars, or fields. */
export type KubeletField = true | 'map' | { readonly [field: string]: KubeletField };

/** Returns the fields of the upstream KubeletConfiguration, but maps of anything else than scalars. */
export const kubeletFields = (): { readonly [field: string]: KubeletField } =>
  fieldsOf(KUBELET_CONFIGURATION as Members);

const fieldsOf = (members: Members): { readonly [field: string]: KubeletField } =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, shape]) => {
      const field = fieldOf(shape);
      return field === undefined ? [] : [[name, field]];
    }),
  );

function fieldOf(shape: Shape): KubeletField | undefined {
  if (typeof shape === 'string') return true;
  if (Array.isArray(shape)) return fieldOf(shape[0]);
  const { '*': value } = shape as Members;
  if (value === undefined) return fieldsOf(shape as Members);
  return typeof value === 'string' ? 'map' : undefined;
}

const kindOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
};

const within = (low: number, high: number) => (value: unknown) =>
  Number.isInteger(value) && (value as number) >= low && (value as number) <= high;

const ACCEPTS: Readonly<Record<Scalar, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  bool: (value) => typeof value === 'boolean',
  int32: within(-(2 ** 31), 2 ** 31 - 1),
  int64: within(-(2 ** 63), 2 ** 63),
  uint32: within(0, 2 ** 32 - 1),
  float64: (value) => typeof value === 'number',
  Duration: (value) => typeof value === 'string',
  Quantity: (value) => typeof value === 'string' || typeof value === 'number',
  any: () => true,
};

const cannotDecode = (value: unknown, path: string, goType: string): string => {
  const kind = kindOf(value);
  const given = kind === 'number' && /^(int|uint|float)/.test(goType) ? `number ${String(value)}` : kind;
  const where = path === '' ? 'Go value' : `Go struct field KubeletConfiguration${path.replace(/\[\d+\]/g, '')}`;
  return `json: cannot unmarshal ${given} into ${where} of type ${goType}`;
};

/** Go's name of a type; structs have names of their own, which say nothing to users. */
function goTypeOf(shape: Shape): string {
  if (typeof shape === 'string') return shape;
  if (Array.isArray(shape)) return `[]${goTypeOf(shape[0])}`;
  const { '*': value } = shape as Members;
  return value === undefined ? 'struct' : `map[string]${goTypeOf(value)}`;
}

interface Findings {
  readonly decode: string[];
  readonly unknown: string[];
}

function walkScalar(value: unknown, shape: Scalar, path: string, found: Findings): void {
  if (!ACCEPTS[shape](value)) {
    found.decode.push(cannotDecode(value, path, shape === 'Duration' ? 'string' : shape));
    return;
  }
  if (shape !== 'Duration') return;
  try {
    parseDuration(value as string);
  } catch {
    found.decode.push(`time: invalid duration ${JSON.stringify(value)}`);
  }
}

/** Null stands for absent everywhere. */
function walk(value: unknown, shape: Shape, path: string, found: Findings): void {
  if (value === null || value === undefined) return;
  if (typeof shape === 'string') {
    walkScalar(value, shape, path, found);
    return;
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) found.decode.push(cannotDecode(value, path, goTypeOf(shape)));
    else value.forEach((item, at) => void walk(item, shape[0], `${path}[${at}]`, found));
    return;
  }
  walkMembers(value, shape as Members, path, found);
}

type Members = { readonly [field: string]: Shape };

function walkMembers(value: unknown, members: Members, path: string, found: Findings): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    found.decode.push(cannotDecode(value, path, goTypeOf(members)));
    return;
  }
  for (const [key, member] of Object.entries(value)) {
    const inner = members['*'] ?? (Object.hasOwn(members, key) ? members[key] : undefined);
    if (inner === undefined) found.unknown.push(`unknown field "${`${path}.${key}`.slice(1)}"`);
    else walk(member, inner, '*' in members ? path : `${path}.${key}`, found);
  }
}

/** Why the block is no KubeletConfiguration: the first value of a wrong type, else every unknown field. */
export function decodeErrors(raw: Readonly<Record<string, unknown>>): readonly string[] {
  const found: Findings = { decode: [], unknown: [] };
  // An expression stands where the decoder wants a number.
  const block = typeof raw.maxPods === 'string' ? { ...raw, maxPods: 0 } : raw;
  walk(block, KUBELET_CONFIGURATION, '', found);
  const [first] = found.decode;
  return first === undefined ? found.unknown : [first];
}

/** The value when it has the field's upstream type, else undefined, as if the field were not there. */
export function wellTyped(raw: Readonly<Record<string, unknown>>, field: string): unknown {
  const shape = own(KUBELET_CONFIGURATION as { readonly [field: string]: Shape }, field) ?? 'any';
  const found: Findings = { decode: [], unknown: [] };
  walk(raw[field], shape, `.${field}`, found);
  return found.decode.length === 0 ? raw[field] : undefined;
}
