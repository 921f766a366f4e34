/**
 * Schema of the upstream KubeletConfiguration (kubelet.config.k8s.io/v1beta1). Errors have the wording of the
 * Kubernetes decoder.
 */

import { parseDuration } from '#api/values';
import { Field, FieldFault, isObject, messageOf, own, type Wording } from '#lib';

type Scalar = 'string' | 'bool' | 'int32' | 'int64' | 'uint32' | 'float64' | 'Duration' | 'Quantity' | 'any';
/** A list has one member, a map has one member named `*`, and a struct has all of its fields. */
type Shape = Scalar | readonly [Shape] | { readonly [field: string]: Shape };

const STRINGS: Shape = ['string'];
const STRING_MAP: Shape = { '*': 'string' };
const LOG_OPTIONS: Shape = { splitStream: 'bool', infoBufferSize: 'Quantity' };

/**
 * Defines fields with the same type.
 * @param names separated by white space
 */
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
    // a duration or a number of nanoseconds
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

/** Field of a block: `true` for a scalar or a list of scalars, a map of scalars, or nested fields. */
export type KubeletField = true | 'map' | { readonly [field: string]: KubeletField };

/** Returns the fields of the upstream KubeletConfiguration, except maps with values that are not scalars. */
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

function cannotDecode(goType: string, value: unknown, path: string): string {
  const isNumber = typeof value === 'number' && /^(int|uint|float)/.test(goType);
  const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  const where = path === '' ? 'Go value' : `Go struct field KubeletConfiguration.${path.replace(/\[\d+\]/g, '')}`;
  return `json: cannot unmarshal ${isNumber ? `number ${value}` : kind} into ${where} of type ${goType}`;
}

const WORDING: Wording = {
  text: 'string',
  object: 'struct',
  problem: cannotDecode,
  error: (_path, problem) => new FieldFault('', problem),
};

/** Returns Go's name of a type. Names of structs are omitted, because they do not help users. */
function goTypeOf(shape: Shape): string {
  if (typeof shape === 'string') return shape === 'Duration' ? 'string' : shape;
  if (Array.isArray(shape)) return `[]${goTypeOf(shape[0])}`;
  const { '*': value } = shape as Members;
  return value === undefined ? 'struct' : `map[string]${goTypeOf(value)}`;
}

type Members = { readonly [field: string]: Shape };

function checkDuration(field: Field): void {
  try {
    parseDuration(field.text());
  } catch {
    field.fail(`time: invalid duration ${JSON.stringify(field.value)}`);
  }
}

/**
 * Returns the paths of unknown fields. Null values count as absent.
 * @throws FieldFault for the first value of a wrong type
 */
function unknownIn(field: Field, shape: Shape): readonly string[] {
  if (field.isMissing) return [];
  const { value } = field;
  if (typeof shape === 'string') {
    field.expect(ACCEPTS[shape](value), goTypeOf(shape));
    if (shape === 'Duration') checkDuration(field);
    return [];
  }
  if (Array.isArray(shape)) {
    field.expect(Array.isArray(value), goTypeOf(shape));
    return field.items().flatMap((item) => unknownIn(item, shape[0]));
  }
  field.expect(isObject(value), goTypeOf(shape));
  const members = shape as Members;
  return field.keys().flatMap((key) => {
    const inner = members['*'] ?? own(members, key);
    const member = field.at(key);
    if (inner === undefined) return [member.path];
    return unknownIn('*' in members ? field.with(member.value) : member, inner);
  });
}

/**
 * Returns the reason why the block is not a KubeletConfiguration: the first value of a wrong type, or every unknown
 * field.
 */
export function decodeErrors(raw: Readonly<Record<string, unknown>>): readonly string[] {
  // The decoder expects a number, but maxPods may be an expression.
  const block = typeof raw.maxPods === 'string' ? { ...raw, maxPods: 0 } : raw;
  try {
    return unknownIn(new Field(block, WORDING), KUBELET_CONFIGURATION).map((path) => `unknown field "${path}"`);
  } catch (error) {
    return [messageOf(error)];
  }
}

/** Returns the value of a field, or undefined if it does not have the field's upstream type. */
export function wellTyped(raw: Readonly<Record<string, unknown>>, field: string): unknown {
  try {
    unknownIn(new Field(raw[field], WORDING, field), own(KUBELET_CONFIGURATION as Members, field) ?? 'any');
    return raw[field];
  } catch {
    return undefined;
  }
}
