/** Rules for values of Karpenter's chart before 1.0. */

/** Names of nested values, outermost first. */
export type ValuePath = readonly string[];

/** Value with a new path. */
export interface MovedValue {
  readonly from: ValuePath;
  readonly to: ValuePath;
  /** Additional note for the user. */
  readonly text?: string;
}

/** Value or map of values that is no longer read. */
interface DroppedValue {
  readonly path: ValuePath;
  /** Reason and replacement. */
  readonly text: string;
}

const at = (path: string): ValuePath => path.split('.');

const moved = (from: string, to: string, text?: string): MovedValue => ({
  from: at(from),
  to: at(to),
  ...(text === undefined ? {} : { text }),
});
const dropped = (path: string, text: string): DroppedValue => ({ path: at(path), text });

const SETTINGS = [
  'clusterName',
  'clusterEndpoint',
  'clusterCABundle',
  'isolatedVPC',
  'vmMemoryOverheadPercent',
  'reservedENIs',
];

const QUEUE_IGNORED =
  'the chart has never read this name, so interruptions were not handled; they are handled from now on, which needs the ' +
  'permissions of the interruption policy';
const MISPLACED =
  'it had no effect at this path; from now on it restricts where the controller runs, so matching nodes must exist';

/**
 * Moved values in the order in which they are applied. If several values have the same new path, the first present
 * value is used.
 */
export const MOVED_VALUES: readonly MovedValue[] = [
  ...SETTINGS.map((name) => moved(`settings.aws.${name}`, `settings.${name}`)),
  moved('settings.aws.interruptionQueueName', 'settings.interruptionQueue'),
  moved('settings.aws.interruptionQueue', 'settings.interruptionQueue', QUEUE_IGNORED),
  moved('settings.interruptionQueueName', 'settings.interruptionQueue', QUEUE_IGNORED),
  moved('clusterName', 'settings.clusterName'),
  moved('clusterEndpoint', 'settings.clusterEndpoint'),
  moved('logConfig.logLevel.controller', 'logLevel'),
  moved('logConfig.logLevel.global', 'logLevel'),
  moved('logConfig.outputPaths', 'logOutputPaths'),
  moved('logConfig.errorOutputPaths', 'logErrorOutputPaths'),
  moved('controller.logLevel', 'logLevel'),
  moved('controller.outputPaths', 'logOutputPaths'),
  moved('controller.errorOutputPaths', 'logErrorOutputPaths'),
  moved('controller.nodeSelector', 'nodeSelector', MISPLACED),
  moved('controller.tolerations', 'tolerations', MISPLACED),
  moved('controller.affinity', 'affinity', MISPLACED),
];

const NO_ASSUMED_ROLE =
  'the controller does not assume a role of another account; assign its service account a role of the account of the ' +
  'cluster (serviceAccount.annotations, or EKS Pod Identity)';
const PROFILE = 'set it in each EC2NodeClass: spec.role (name of the role, not of the profile) or spec.instanceProfile';
const DRIFT = 'drift is always enabled; to disable it, use a NodePool budget with nodes: "0" and reasons: [Drifted]';
const JSON_LOG = 'the log is always JSON';
const WEBHOOK =
  'there is no webhook, because the CRDs validate objects; delete remaining webhook configurations, and close its ' +
  'ports in network policies';

export const DROPPED_VALUES: readonly DroppedValue[] = [
  ...['settings.aws.assumeRoleARN', 'settings.aws.assumeRoleDuration'].map((path) => dropped(path, NO_ASSUMED_ROLE)),
  ...['settings.assumeRoleARN', 'settings.assumeRoleDuration'].map((path) => dropped(path, NO_ASSUMED_ROLE)),
  dropped('settings.aws.defaultInstanceProfile', PROFILE),
  dropped('settings.defaultInstanceProfile', PROFILE),
  dropped('aws.defaultInstanceProfile', PROFILE),
  dropped(
    'settings.aws.enablePodENI',
    'instance types with branch interfaces offer vpc.amazonaws.com/pod-eni to pods that request it; there is no setting',
  ),
  dropped(
    'settings.aws.enableENILimitedPodDensity',
    'if it was false, set spec.kubelet.maxPods: 110 in EC2NodeClasses; true is the default',
  ),
  dropped('settings.aws.tags', 'set tags in spec.tags of each EC2NodeClass'),
  dropped('settings.aws.nodeNameConvention', 'the kubelet of the instance sets the name of the node'),
  dropped('settings.featureGates.driftEnabled', DRIFT),
  dropped('settings.featureGates.drift', DRIFT),
  dropped('logConfig.enabled', 'only logLevel, logOutputPaths and logErrorOutputPaths configure the log'),
  dropped('logConfig.logEncoding', JSON_LOG),
  dropped('logConfig.logLevel.webhook', WEBHOOK),
  dropped('logEncoding', JSON_LOG),
  dropped('controller.logEncoding', JSON_LOG),
  dropped('webhook', WEBHOOK),
];

/** Log levels that no longer exist, with their replacements. */
export const LOG_LEVELS: Readonly<Record<string, string>> = {
  warn: 'error',
  warning: 'error',
  dpanic: 'error',
  panic: 'error',
  fatal: 'error',
};

/** Images of Karpenter's own controller. Any other image is a custom build. */
export const KARPENTER_IMAGE = /(^public\.ecr\.aws\/karpenter\/|\bkarpenter\/controller$)/;
