/** The operator's process settings: command line flags, environment variables, defaults and their validation. */

import type { TopologySpreadConstraint } from '#api/objects';
import {
  type ConsolidationMode,
  consolidationPolicy,
  DEFAULT_NODE_HOURLY_FEE,
  defaultPreferencePolicy,
  formatDuration,
  nodeHourlyFeeError,
  type PackingMode,
  PREFERENCE_POLICIES,
  type PreferencePolicy,
} from '#api/values';
import { quoted } from '#lib';
import type { MetricsView } from '#observe/metrics';
import { parseTracing, type TracingSettings } from '#observe/traces';
import { CORE_GATES, type Open, openGates, parseGates, unknownGates } from './feature-gates.ts';
import { readOptions, type Values } from './flags.ts';
import { type Address, isLoopback, parseAddress } from './loopback.ts';
import { decimal, duration, environmentName, integer, SettingsError, text, toggle } from './options.ts';
import { parseSchedulerConfig } from './scheduler-config.ts';

/** The engine prices evictions by the share of the pod (docs/decisions/0076). */
export const DEFAULT_EVICTION_PRICE = 0;
export const DEFAULT_BATCH_MAX_MS = 10_000;
const MOST_EVICTION_PRICE = 1000;

/** Returns the error in a price of an eviction in USD, or undefined if it is valid. */
export const evictionPriceError = (usd: number): string | undefined =>
  usd >= 0 && usd <= MOST_EVICTION_PRICE ? undefined : `must be from 0 to ${MOST_EVICTION_PRICE} USD`;

export { HelpRequested } from './flags.ts';
export { SettingsError } from './options.ts';

const SECOND = 1_000;

export const OPTIONS = {
  karpenterService: text('karpenter-service', '', 'Name of the Service; deprecated, without effect'),
  metricsPort: integer('metrics-port', 8080, 'Port of the metrics endpoint'),
  healthProbePort: integer('health-probe-port', 8081, 'Port of the health and readiness probes'),
  kubeClientQps: integer('kube-client-qps', 200, 'Requests per second to the API server'),
  kubeClientBurst: integer('kube-client-burst', 300, 'Requests to the API server in a burst'),
  enableProfiling: toggle('enable-profiling', false, 'Serve profiles on the metrics port'),
  debugEndpoints: text(
    'debug-endpoints',
    'loopback',
    'Clients that can read /debug on the metrics port: loopback, all or off',
  ),
  livePage: text('live-page', '', 'Address of the live page, for example 127.0.0.1:8090; empty to disable the page'),
  metrics: text('metrics', 'budget', 'Series of /metrics: budget, or karpenter for all series of Karpenter'),
  disableControllerWarmup: toggle(
    'disable-controller-warmup',
    true,
    'For compatibility with Karpenter; without effect, because standby replicas always watch to take over immediately',
  ),
  disableLeaderElection: toggle('disable-leader-election', false, 'Run controllers without holding the lease'),
  disableClusterStateObservability: toggle(
    'disable-cluster-state-observability',
    false,
    'Disable metrics of pods, nodes, NodePools and status conditions, and events of status conditions',
  ),
  leaderElectionName: text('leader-election-name', 'karpenter-leader-election', 'Name of the Lease'),
  leaderElectionNamespace: text(
    'leader-election-namespace',
    '',
    'Namespace of the Lease; empty for the namespace of the pod',
  ),
  memoryLimit: integer('memory-limit', -1, 'Memory limit of the container in bytes'),
  cpuRequests: integer('cpu-requests', 1000, 'CPU requests of the container in milli-cores'),
  logLevel: text('log-level', 'info', 'Log level: debug, info or error'),
  logOutputPaths: text('log-output-paths', 'stdout', 'Outputs of the log: stdout, stderr or files, comma-separated'),
  logErrorOutputPaths: text('log-error-output-paths', 'stderr', 'Outputs for failures of the logger'),
  batchMaxMs: duration('batch-max-duration', DEFAULT_BATCH_MAX_MS, 'Maximum time for collecting pending pods'),
  batchIdleMs: duration('batch-idle-duration', SECOND, 'Time without a new pending pod after which collecting ends'),
  preferencePolicy: text(
    'preference-policy',
    '',
    'Preferences of pods: Priced (satisfied if they are worth their price), Respect or Ignore; empty for Priced, or for Respect if PACKING or CONSOLIDATION is compatible',
  ),
  minValuesPolicy: text('min-values-policy', 'Strict', 'Policy for minValues of NodePools: Strict or BestEffort'),
  mode: text(
    'mode',
    'act',
    'act, or observe: report decisions and carry out none, beside another operator, without its Lease',
  ),
  packing: text('packing', 'cheapest', 'Packing of pods on nodes: cheapest, or compatible with Karpenter'),
  costHistory: toggle('cost-history', true, 'Store decisions and costs in the ConfigMap karpenter-history'),
  consolidation: text('consolidation', 'thorough', 'Search for consolidations: thorough, or compatible with Karpenter'),
  steering: text(
    'steering',
    'auto',
    'Mark nodes that can become empty, so that kube-scheduler fills them last: true, false, or auto with thorough consolidation',
  ),
  podDeletionCost: toggle(
    'pod-deletion-cost',
    false,
    'Let scale-downs delete pods on marked nodes first (steering); requires the right to patch pods',
  ),
  podSurge: toggle(
    'pod-surge',
    false,
    'Restart Deployments before the eviction of their only ready pod if the pod has the annotation karpenter-ts.sh/surge; requires the right to patch deployments',
  ),
  scheduledEvents: text(
    'scheduled-events',
    'drift',
    'Scheduled events of EC2: drift replaces nodes within budgets before an event, interruption deletes NodeClaims immediately as Karpenter does',
  ),
  drainConditions: toggle(
    'drain-conditions',
    false,
    'Show drains in the conditions DrainInProgress and Drained of nodes; requires the right to patch nodes/status',
  ),
  podNomination: toggle(
    'pod-nomination',
    false,
    'Write the planned node of pending pods to their status, so that kube-scheduler tries it first; requires the right to patch pods/status',
  ),
  evictionPrice: decimal(
    'eviction-price',
    DEFAULT_EVICTION_PRICE,
    'Additional price of each eviction in USD, if nodes are marked (steering)',
  ),
  nodeHourlyFee: decimal(
    'node-hourly-fee',
    DEFAULT_NODE_HOURLY_FEE,
    'Hourly cost of a node in USD in addition to the charges of AWS; 0 to compare only prices of instances',
  ),
  ignoreDraRequests: toggle(
    'ignore-dra-requests',
    true,
    'Skip pods with resource claims; the gates of DRA drivers set it to false',
  ),
  featureGates: text('feature-gates', '', 'Feature gates as Name=true,Other=false'),
  schedulerConfig: text('scheduler-config', '', 'Scheduler config as YAML or JSON'),
  clusterName: text('cluster-name', '', 'Name of the EKS cluster, required'),
};

/** Settings that are read only from the environment. */
export const VARIABLES = {
  systemNamespace: {
    name: 'SYSTEM_NAMESPACE',
    help: 'Namespace of the operator pod, and of its Lease unless another namespace is set; set by the chart',
  },
  livePageToken: {
    name: 'LIVE_PAGE_TOKEN',
    help: 'Token that a browser must send to open the live page; required unless the page is served on loopback',
  },
  decisionWebhookUrl: {
    name: 'DECISION_WEBHOOK_URL',
    help: 'URL that receives the log of decisions as JSON with a text for Slack; empty for none',
  },
  decisionWebhookSecret: {
    name: 'DECISION_WEBHOOK_SECRET',
    help: 'Secret that signs the requests to DECISION_WEBHOOK_URL with HMAC-SHA256',
  },
  kubernetesMinVersion: {
    name: 'KUBERNETES_MIN_VERSION',
    help: 'For compatibility with the chart of Karpenter; without effect',
  },
} as const;

/** Options of Karpenter that are accepted and have no effect. */
const WITHOUT_EFFECT = ['karpenterService', 'disableControllerWarmup'] as const;

type Raw = Omit<Values<typeof OPTIONS>, (typeof WITHOUT_EFFECT)[number]>;

/** Validated settings. Times are in milliseconds, `cpuRequests` in milli-cores, `memoryLimit` in bytes (-1: no limit). */
export interface Settings
  extends Omit<
    Raw,
    | 'logLevel'
    | 'logOutputPaths'
    | 'logErrorOutputPaths'
    | 'debugEndpoints'
    | 'livePage'
    | 'metrics'
    | 'preferencePolicy'
    | 'minValuesPolicy'
    | 'mode'
    | 'packing'
    | 'scheduledEvents'
    | 'consolidation'
    | 'steering'
    | 'featureGates'
    | 'schedulerConfig'
  > {
  readonly logLevel: 'debug' | 'info' | 'error';
  readonly logOutputPaths: readonly string[];
  readonly logErrorOutputPaths: readonly string[];
  readonly debugEndpoints: 'loopback' | 'all' | 'off';
  /** Undefined: no live page. */
  readonly livePage: { readonly address: Address; readonly token: string } | undefined;
  /** Undefined: no webhook. */
  readonly decisionWebhook: WebhookSettings | undefined;
  readonly metrics: MetricsView;
  /** Undefined: no traces. */
  readonly tracing: TracingSettings | undefined;
  readonly preferencePolicy: PreferencePolicy;
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  readonly mode: 'act' | 'observe';
  readonly packing: PackingMode;
  readonly scheduledEvents: 'drift' | 'interruption';
  readonly consolidation: ConsolidationMode;
  readonly steering: boolean;
  readonly featureGates: Open<typeof CORE_GATES>;
  /** Applied in simulations to pods that declare no topology spread constraints. */
  readonly defaultTopologySpreadConstraints: readonly TopologySpreadConstraint[];
  /** Namespace of the operator's own pod; empty outside a cluster. */
  readonly systemNamespace: string;
  /** Messages about settings without effect, for the log. */
  readonly ignored: readonly string[];
}

/** Settings of a provider of instances. */
export interface ProviderSettings<Table, Own> {
  /** Returns the options of the operator with those of the provider, in the order of the usage message. */
  options(core: typeof OPTIONS): typeof OPTIONS & Table;
  /** @throws SettingsError if the value of an option cannot be parsed */
  read(values: Values<typeof OPTIONS & Table>): {
    readonly settings: Own;
    /** Messages about settings without effect. */
    readonly ignored: readonly string[];
    readonly ignoreDraRequests: boolean;
  };
  /** Returns an error for each invalid value. */
  errors(settings: Own): readonly string[];
}

/** Settings of a provider without options. */
const NO_SETTINGS: ProviderSettings<unknown, unknown> = {
  options: (core) => core,
  read: ({ ignoreDraRequests }) => ({ settings: {}, ignored: [], ignoreDraRequests }),
  errors: () => [],
};

/**
 * Reads the settings from command line arguments (without the program's name) and the environment.
 * @throws SettingsError if a setting is invalid, HelpRequested for `--help`
 */
export function parseSettings<Table = unknown, Own = unknown>(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  provider = NO_SETTINGS as ProviderSettings<Table, Own>,
): Settings & Own {
  const values = readOptions(provider.options(OPTIONS), argv, env);
  for (const name of WITHOUT_EFFECT) Reflect.deleteProperty(values, name);
  const own = provider.read(values);
  const known: Values<typeof OPTIONS> = values;
  const raw: Raw = known;
  const gates = parseGates('FEATURE_GATES', raw.featureGates);
  const { tracing, problems } = parseTracing(env);
  const consolidation = oneOf('CONSOLIDATION', raw.consolidation, ['thorough', 'compatible'] as const);
  const packing = oneOf('PACKING', raw.packing, ['cheapest', 'compatible'] as const);
  const steering = isSteering({ steering: raw.steering, consolidation });
  const { defaultConstraints } = parseSchedulerConfig(raw.schedulerConfig);
  const idleDeletionCost = raw.podDeletionCost ? reasonsOfIdleDeletionCost(steering, defaultConstraints) : [];
  const settings: Settings & Own = {
    ...raw,
    ...own.settings,
    ignoreDraRequests: own.ignoreDraRequests,
    cpuRequests: raw.cpuRequests > 0 ? raw.cpuRequests : 1000,
    logLevel: logLevel(raw.logLevel),
    logOutputPaths: paths(raw.logOutputPaths),
    logErrorOutputPaths: paths(raw.logErrorOutputPaths),
    debugEndpoints: oneOf('DEBUG_ENDPOINTS', raw.debugEndpoints, ['loopback', 'all', 'off'] as const),
    livePage: livePage(raw.livePage, env[VARIABLES.livePageToken.name] ?? ''),
    decisionWebhook: webhook(
      env[VARIABLES.decisionWebhookUrl.name] ?? '',
      env[VARIABLES.decisionWebhookSecret.name] ?? '',
    ),
    metrics: oneOf('METRICS', raw.metrics, ['budget', 'karpenter'] as const),
    tracing,
    minValuesPolicy: oneOf('MIN_VALUES_POLICY', raw.minValuesPolicy, ['Strict', 'BestEffort'] as const),
    mode: oneOf('MODE', raw.mode, ['act', 'observe'] as const),
    packing,
    scheduledEvents: oneOf('SCHEDULED_EVENTS', raw.scheduledEvents, ['drift', 'interruption'] as const),
    preferencePolicy:
      raw.preferencePolicy === ''
        ? defaultPreferencePolicy(packing, consolidation)
        : oneOf('PREFERENCE_POLICY', raw.preferencePolicy, PREFERENCE_POLICIES),
    consolidation,
    steering,
    podDeletionCost: raw.podDeletionCost && idleDeletionCost.length === 0,
    featureGates: openGates(CORE_GATES, gates),
    defaultTopologySpreadConstraints: defaultConstraints,
    systemNamespace: env[VARIABLES.systemNamespace.name] ?? '',
    ignored: [
      ...unknownGates('FEATURE_GATES', CORE_GATES, gates.keys()),
      ...own.ignored,
      ...problems,
      ...idleDeletionCost,
    ],
  };
  const wrong = [...requiredErrors(settings), ...provider.errors(settings), ...rangeErrors(settings)];
  if (wrong.length > 0) throw new SettingsError(`validating options, ${wrong.join('; ')}`);
  return settings;
}

function isSteering({
  steering,
  consolidation,
}: {
  readonly steering: string;
  readonly consolidation: ConsolidationMode;
}): boolean {
  const value = oneOf('STEERING', steering, ['auto', 'true', 'false'] as const);
  return value === 'auto' ? consolidationPolicy(consolidation).steers : value === 'true';
}

/** Pods with spread constraints keep their deletion cost, and default constraints apply to all pods of ReplicaSets. */
function reasonsOfIdleDeletionCost(
  steering: boolean,
  defaultConstraints: readonly TopologySpreadConstraint[],
): readonly string[] {
  const reasons = [
    ...(steering ? [] : ['STEERING is off']),
    ...(defaultConstraints.length === 0 ? [] : ['SCHEDULER_CONFIG has default topology spread constraints']),
  ];
  return reasons.map((reason) => `POD_DELETION_COST has no effect, because ${reason}`);
}

function oneOf<const T extends string>(variable: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw new SettingsError(`${invalid(variable, value)}, must be ${allowed.join(' or ')}`);
}

const invalid = (variable: string, value: string): string =>
  `validating cli flags / env vars, invalid ${variable} ${quoted(value)}`;

const LOG_LEVELS = ['debug', 'info', 'error'] as const;

/**
 * Parses the log level. The error has exactly the text of Karpenter's error, because users search for that text. It therefore
 * does not list the valid levels.
 */
function logLevel(value: string): Settings['logLevel'] {
  if (value === '') return 'info';
  const found = LOG_LEVELS.find((level) => level === value);
  if (found === undefined) throw new SettingsError(invalid('LOG_LEVEL', value));
  return found;
}

const SHORTEST_TOKEN = 16;

/**
 * Parses the address and the token of the live page.
 * @throws SettingsError if the address or the token is invalid, or if other machines could open the page without a token
 */
export interface WebhookSettings {
  readonly url: string;
  /** Empty: requests are not signed. */
  readonly secret: string;
}

/** @throws SettingsError without the URL, which can contain a secret */
function webhook(text: string, secret: string): WebhookSettings | undefined {
  if (text === '') return undefined;
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new SettingsError('DECISION_WEBHOOK_URL is not a valid URL, must begin with https:// or http://');
  if (url.username !== '' || url.password !== '')
    throw new SettingsError(
      'DECISION_WEBHOOK_URL must not contain a user name or password, use DECISION_WEBHOOK_SECRET',
    );
  return { url: url.href, secret };
}

function livePage(text: string, token: string): Settings['livePage'] {
  if (text === '') return undefined;
  const address = parseAddress(text);
  if (address === undefined)
    throw new SettingsError(
      `${invalid('LIVE_PAGE', text)}, must be an IP address and a port, for example 127.0.0.1:8090`,
    );
  if (token !== '' && token.length < SHORTEST_TOKEN)
    throw new SettingsError(`LIVE_PAGE_TOKEN must be at least ${SHORTEST_TOKEN} characters long`);
  if (token === '' && !isLoopback(address.host))
    throw new SettingsError(
      `LIVE_PAGE ${quoted(text)} can be reached from other machines; set LIVE_PAGE_TOKEN, or use 127.0.0.1`,
    );
  return { address, token };
}

const paths = (list: string): readonly string[] =>
  list
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '');

const requiredErrors = ({ clusterName }: Settings): readonly string[] =>
  clusterName === '' ? ['missing field, cluster-name (set CLUSTER_NAME or --cluster-name)'] : [];

/** Returns an error for each value that Karpenter accepts although the operator cannot work with it. */
function rangeErrors(settings: Settings): readonly string[] {
  const { metricsPort, healthProbePort, batchMaxMs, batchIdleMs, nodeHourlyFee, evictionPrice } = settings;
  const wrong: string[] = [];
  for (const [flag, port] of Object.entries({ 'metrics-port': metricsPort, 'health-probe-port': healthProbePort }))
    if (port < 0 || port > 65_535) wrong.push(`${flag} must be from 0 to 65535 (${flagWithValue(flag, port)})`);
  for (const [flag, ms] of Object.entries({ 'batch-max-duration': batchMaxMs, 'batch-idle-duration': batchIdleMs }))
    if (ms < 0) wrong.push(`${flag} cannot be negative (${flagWithValue(flag, formatDuration(ms))})`);
  const feeError = nodeHourlyFeeError(nodeHourlyFee);
  if (feeError !== undefined)
    wrong.push(`node-hourly-fee ${feeError} (${flagWithValue('node-hourly-fee', nodeHourlyFee)})`);
  const evictionError = evictionPriceError(evictionPrice);
  if (evictionError !== undefined)
    wrong.push(`eviction-price ${evictionError} (${flagWithValue('eviction-price', evictionPrice)})`);
  return wrong;
}

export const flagWithValue = (flag: string, value: number | string): string => `${environmentName(flag)} is ${value}`;
