/** The settings of the AWS provider: options, feature gates and their validation. */
import { cpuUtilizationError, DEFAULT_CPU_UTILIZATION, formatDuration } from '#api/values';
import { quoted } from '#lib';
import {
  decimal,
  duration,
  flagWithValue,
  gate,
  integer,
  OPTIONS,
  type Open,
  openGates,
  type ProviderSettings,
  parseGates,
  parseSettings,
  type Settings,
  text,
  toggle,
  unknownGates,
  type Values,
} from '#process/settings';

/** Weight in prices of the expected cost of spot interruptions (docs/decisions/0044). */
const DEFAULT_SPOT_RISK = 1;
const MOST_SPOT_RISK = 100;
const MINUTE = 60_000;

export const AWS_GATES = {
  nodeClassCel: gate('NodeClassCEL', false, 'Evaluate expressions of the instance type in kubelet settings'),
  draNvidiaGpu: gate('DRANVIDIAGPU', false, 'Nodes run the DRA driver of NVIDIA GPUs'),
  draEfa: gate('DRAEFA', false, 'Nodes run the DRA driver of EFA interfaces'),
  draNeuron: gate('DRANeuron', false, 'Nodes run the DRA driver of AWS Neuron devices'),
};

/** Gates that confirm that nodes run a DRA driver. Each of them enables resource claims. */
const DRIVER_GATES = ['draNvidiaGpu', 'draEfa', 'draNeuron'] as const;

type CoreOptions = typeof OPTIONS;

/** Returns all options of the operator in the order of the usage message. */
const optionsWith = ({ nodeHourlyFee, ignoreDraRequests, featureGates, ...core }: CoreOptions) => {
  const { schedulerConfig, clusterName, ...first } = core;
  return {
    ...first,
    priceBook: text('price-book', '', 'File with discounts, Savings Plans and reserved instances; empty for none'),
    nodeHourlyFee,
    spotRisk: decimal(
      'spot-risk',
      DEFAULT_SPOT_RISK,
      'Weight of the expected cost of spot interruptions in price comparisons; 0 to disable',
    ),
    expectedCpuUtilization: decimal(
      'expected-cpu-utilization',
      DEFAULT_CPU_UTILIZATION,
      'Expected part of the requested CPU that pods use, for surplus CPU credits of burstable types; 0 to disable',
    ),
    ignoreDraRequests,
    featureGates,
    schedulerConfig,
    clusterName,
    clusterEndpoint: text('cluster-endpoint', '', 'URL of the API server for new nodes; empty to read it from EKS'),
    clusterCaBundle: text(
      'cluster-ca-bundle',
      '',
      'CA of the API server in base64; empty to use the CA of the operator',
    ),
    isolatedVpc: toggle('isolated-vpc', false, 'Make no calls to the pricing API'),
    eksControlPlane: toggle('eks-control-plane', false, 'Read cluster details from EKS'),
    vmMemoryOverheadPercent: decimal('vm-memory-overhead-percent', 0.075, 'Part of memory that the hypervisor uses'),
    interruptionQueue: text('interruption-queue', '', 'Name of the SQS queue; empty for no interruption handling'),
    reservedEnis: integer('reserved-enis', 0, 'Network interfaces not used for pods'),
    disableDryRun: toggle('disable-dry-run', false, 'Skip dry-run authorisation checks of EC2NodeClasses'),
    enableZonalShift: toggle('enable-zonal-shift', false, 'Launch no nodes in zones with a zonal shift'),
    amiRefreshIntervalMs: duration('ami-refresh-interval', MINUTE, 'Time between look-ups of AMIs'),
    subnetRefreshIntervalMs: duration('subnet-refresh-interval', MINUTE, 'Time between look-ups of subnets'),
    awsFeatureGates: text('aws-feature-gates', '', 'Feature gates of the AWS provider'),
  };
};

/** Options of an operator with this provider. */
export const AWS_OPERATOR_OPTIONS = optionsWith(OPTIONS);

type AwsOptionTable = Omit<ReturnType<typeof optionsWith>, keyof CoreOptions>;

/** Validated settings of the provider. Times are in milliseconds. */
interface OwnSettings extends Omit<Values<AwsOptionTable>, 'awsFeatureGates'> {
  readonly awsFeatureGates: Open<typeof AWS_GATES>;
}

export type AwsOperatorSettings = Settings & OwnSettings;

const AWS_SETTINGS: ProviderSettings<AwsOptionTable, OwnSettings> = {
  options: optionsWith,
  read: ({ awsFeatureGates, ignoreDraRequests, ...values }) => {
    const given = parseGates('AWS_FEATURE_GATES', awsFeatureGates);
    const gates = openGates(AWS_GATES, given);
    return {
      settings: { ...values, awsFeatureGates: gates },
      ignoreDraRequests: ignoreDraRequests && DRIVER_GATES.every((each) => !gates[each]),
      ignored: unknownGates('AWS_FEATURE_GATES', AWS_GATES, given.keys()),
    };
  },
  errors: errorsIn,
};

function errorsIn(settings: OwnSettings): readonly string[] {
  const wrong: string[] = [];
  const { clusterEndpoint, vmMemoryOverheadPercent, reservedEnis, spotRisk, expectedCpuUtilization } = settings;
  if (clusterEndpoint !== '' && !isAbsoluteUrl(clusterEndpoint)) {
    const expected = 'CLUSTER_ENDPOINT must be an absolute URL, for example https://example.eks.amazonaws.com';
    wrong.push(`${quoted(clusterEndpoint)} cluster endpoint URL is not valid (${expected})`);
  }
  const refuse = (flag: string, error: string, value: number | string): void =>
    void wrong.push(`${flag} ${error} (${flagWithValue(flag, value)})`);
  if (vmMemoryOverheadPercent < 0) refuse('vm-memory-overhead-percent', 'cannot be negative', vmMemoryOverheadPercent);
  if (reservedEnis < 0) refuse('reserved-enis', 'cannot be negative', reservedEnis);
  const intervals = {
    'ami-refresh-interval': settings.amiRefreshIntervalMs,
    'subnet-refresh-interval': settings.subnetRefreshIntervalMs,
  };
  for (const [flag, ms] of Object.entries(intervals))
    if (ms < MINUTE) refuse(flag, 'must be at least 1m', formatDuration(ms));
  // Karpenter accepts the following values, although the operator cannot work with them
  if (vmMemoryOverheadPercent >= 1)
    refuse('vm-memory-overhead-percent', 'must be less than 1, for example 0.075 for 7.5 %', vmMemoryOverheadPercent);
  if (spotRisk < 0 || spotRisk > MOST_SPOT_RISK)
    refuse('spot-risk', `must be a weight from 0 to ${MOST_SPOT_RISK}`, spotRisk);
  const partError = cpuUtilizationError(expectedCpuUtilization);
  if (partError !== undefined) refuse('expected-cpu-utilization', partError, expectedCpuUtilization);
  return wrong;
}

function isAbsoluteUrl(url: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(url) && (URL.parse(url)?.host ?? '') !== '';
}

/**
 * Reads the settings of an operator with this provider.
 * @throws SettingsError if a setting is invalid, HelpRequested for `--help`
 */
export const parseAwsSettings = (
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): AwsOperatorSettings => parseSettings(argv, env, AWS_SETTINGS);
