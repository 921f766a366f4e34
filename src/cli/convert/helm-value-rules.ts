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

const moveValue = (from: string, to: string, text?: string): MovedValue => ({
  from: at(from),
  to: at(to),
  ...(text === undefined ? {} : { text }),
});
const dropValue = (path: string, text: string): DroppedValue => ({ path: at(path), text });

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
  ...SETTINGS.map((name) => moveValue(`settings.aws.${name}`, `settings.${name}`)),
  moveValue('settings.aws.interruptionQueueName', 'settings.interruptionQueue'),
  moveValue('settings.aws.interruptionQueue', 'settings.interruptionQueue', QUEUE_IGNORED),
  moveValue('settings.interruptionQueueName', 'settings.interruptionQueue', QUEUE_IGNORED),
  moveValue('clusterName', 'settings.clusterName'),
  moveValue('clusterEndpoint', 'settings.clusterEndpoint'),
  moveValue('logConfig.logLevel.controller', 'logLevel'),
  moveValue('logConfig.logLevel.global', 'logLevel'),
  moveValue('logConfig.outputPaths', 'logOutputPaths'),
  moveValue('logConfig.errorOutputPaths', 'logErrorOutputPaths'),
  moveValue('controller.logLevel', 'logLevel'),
  moveValue('controller.outputPaths', 'logOutputPaths'),
  moveValue('controller.errorOutputPaths', 'logErrorOutputPaths'),
  moveValue('controller.nodeSelector', 'nodeSelector', MISPLACED),
  moveValue('controller.tolerations', 'tolerations', MISPLACED),
  moveValue('controller.affinity', 'affinity', MISPLACED),
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
  ...['settings.aws.assumeRoleARN', 'settings.aws.assumeRoleDuration'].map((path) => dropValue(path, NO_ASSUMED_ROLE)),
  ...['settings.assumeRoleARN', 'settings.assumeRoleDuration'].map((path) => dropValue(path, NO_ASSUMED_ROLE)),
  dropValue('settings.aws.defaultInstanceProfile', PROFILE),
  dropValue('settings.defaultInstanceProfile', PROFILE),
  dropValue('aws.defaultInstanceProfile', PROFILE),
  dropValue(
    'settings.aws.enablePodENI',
    'instance types with branch interfaces offer vpc.amazonaws.com/pod-eni to pods that request it; there is no setting',
  ),
  dropValue(
    'settings.aws.enableENILimitedPodDensity',
    'if it was false, set spec.kubelet.maxPods: 110 in EC2NodeClasses; true is the default',
  ),
  dropValue('settings.aws.tags', 'set tags in spec.tags of each EC2NodeClass'),
  dropValue('settings.aws.nodeNameConvention', 'the kubelet of the instance sets the name of the node'),
  dropValue('settings.featureGates.driftEnabled', DRIFT),
  dropValue('settings.featureGates.drift', DRIFT),
  dropValue('logConfig.enabled', 'only logLevel, logOutputPaths and logErrorOutputPaths configure the log'),
  dropValue('logConfig.logEncoding', JSON_LOG),
  dropValue('logConfig.logLevel.webhook', WEBHOOK),
  dropValue('logEncoding', JSON_LOG),
  dropValue('controller.logEncoding', JSON_LOG),
  dropValue('webhook', WEBHOOK),
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
