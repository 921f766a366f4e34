/** Converts flags of cluster-autoscaler to fields of NodePools. */
import { parseDuration } from '#api/values';
import { messageOf } from '../../objects/errors.ts';
import type { NoteLevel, TakeNote } from '../notes.ts';
import { setSize } from './common.ts';
import type { DocumentPart, GivenFlag } from './document-part.ts';
import { textsOf } from './fields.ts';
import type { NodeGroup } from './node-group.ts';

type Said = readonly [level: NoteLevel, text: string];

/**
 * Applies a flag to the groups and returns notes about the result. Returns no notes for a flag that does not concern
 * groups.
 */
type Apply = (groups: readonly NodeGroup[], value: string) => readonly Said[];

const says =
  (...said: Said): Apply =>
  () => [said];

const nothing: Apply = () => [];

const GRACE =
  'each pod has its own terminationGracePeriodSeconds; spec.template.spec.terminationGracePeriod limits the whole drain';
const PER_POOL = 'each NodePool has its own limit; set spec.limits of all NodePools so that their sum is this value';
const BY_PRICE = 'nodes are launched where the pods cost least, in any group';
const BLOCKING = 'to protect pods, use the annotation karpenter.sh/do-not-disrupt: "true" or a PodDisruptionBudget';
const LOGGING = 'the chart has logLevel, logOutputPaths and logErrorOutputPaths';
const BY_COST =
  'consolidation compares costs: a node is removed if its pods fit on other nodes or on a cheaper node, at any utilization';

const FLAGS: Readonly<Record<string, Apply>> = {
  expander,
  'scale-down-enabled': (groups, value) => {
    if (value !== 'false') return [['changed', 'spec.disruption sets when nodes are removed']];
    for (const group of groups) group.disruption.consolidateAfter = 'Never';
    return [['changed', 'spec.disruption.consolidateAfter: Never']];
  },
  'scale-down-unneeded-time': waiting,
  'scale-down-unready-time': says(
    'lost',
    'settings.featureGates.nodeRepair of the chart replaces nodes that are not ready',
  ),
  'scale-down-utilization-threshold': says('lost', BY_COST),
  'scale-down-gpu-utilization-threshold': says('lost', BY_COST),
  'scale-down-delay-after-add': says(
    'lost',
    'consolidateAfter of each node starts when a pod was last added or removed',
  ),
  'scale-down-delay-after-delete': says(
    'lost',
    'consolidateAfter of each node starts when a pod was last added or removed',
  ),
  'scale-down-delay-after-failure': says('lost', 'failed disruptions are retried later; there is no setting'),
  'scale-down-non-empty-candidates-count': nothing,
  'scale-down-candidates-pool-ratio': nothing,
  'scale-down-candidates-pool-min-count': nothing,
  'max-empty-bulk-delete': (groups, value) => budget(groups, value, ['Empty']),
  'max-scale-down-parallelism': (groups, value) => budget(groups, value),
  'max-drain-parallelism': (groups, value) => budget(groups, value, ['Underutilized', 'Drifted']),
  'max-graceful-termination-sec': graceful,
  'skip-nodes-with-local-storage': keeping('pods with emptyDir or hostPath do not block the removal of a node'),
  'skip-nodes-with-system-pods': keeping('pods of kube-system do not block the removal of a node'),
  'skip-nodes-with-custom-controller-pods': says('lost', `pods of any controller can be moved; ${BLOCKING}`),
  'min-replica-count': says('lost', BLOCKING),
  'balance-similar-node-groups': says(
    'changed',
    'groups that differ only in zones became one NodePool; topologySpreadConstraints of pods, or SCHEDULER_CONFIG, spread pods',
  ),
  'balancing-ignore-label': nothing,
  'balancing-label': nothing,
  'max-nodes-total': (groups, value) => {
    const [only, ...others] = groups;
    if (only === undefined || others.length > 0) return [['lost', `at most ${value} nodes in total: ${PER_POOL}`]];
    only.size.max = Math.min(only.size.max ?? Number.POSITIVE_INFINITY, Number(value));
    return [['changed', 'spec.limits']];
  },
  'cores-total': says('lost', PER_POOL),
  'memory-total': says('lost', PER_POOL),
  'gpu-total': says('lost', PER_POOL),
  nodes: sizes,
  'node-group-auto-discovery': says(
    'changed',
    'the groups are converted from the output of the AWS CLI; there is no discovery of groups afterwards',
  ),
  'new-pod-scale-up-delay': says(
    'lost',
    'settings.batchIdleDuration and batchMaxDuration of the chart set how long pods are collected',
  ),
  'max-node-provision-time': says(
    'lost',
    'a node that has not registered after 15 minutes is terminated; there is no setting',
  ),
  'max-pod-eviction-time': says('lost', GRACE),
  'expendable-pods-priority-cutoff': says('lost', 'nodes are launched for pods of every priority'),
  'ignore-taint': startupTaint,
  'startup-taint': startupTaint,
  'status-taint': nothing,
  'ignore-daemonsets-utilization': says('lost', BY_COST),
  'ignore-mirror-pods-utilization': says('lost', BY_COST),
  'daemonset-eviction-for-empty-nodes': says('lost', 'pods of DaemonSets stay until the node is terminated'),
  'daemonset-eviction-for-occupied-nodes': says('lost', 'pods of DaemonSets stay until the node is terminated'),
  'scale-up-from-zero': nothing,
  estimator: nothing,
  'scan-interval': says('lost', 'new pods are watched, and consolidation runs every ten seconds'),
  'aws-use-static-instance-list': says('lost', 'settings.isolatedVPC of the chart, if the price API cannot be reached'),
  'enforce-node-group-min-size': says(
    'lost',
    'a NodePool has no minimum size; use a CapacityBuffer or replicas to keep nodes',
  ),
  'emit-per-nodegroup-metrics': says(
    'lost',
    'the metrics karpenter_nodepools_usage, _limit and _cost_total have a label for the NodePool',
  ),
  'write-status-configmap': says(
    'lost',
    'see conditions, events and metrics for the state, and `karpenter explain` for the reasons',
  ),
  'priority-config-map': nothing,
  'cloud-provider': (_, value) =>
    value === 'aws' ? [] : [['lost', `cloud provider ${value}: nodes are launched only on AWS`]],
  'cluster-name': nothing,
  namespace: nothing,
  kubernetes: nothing,
  kubeconfig: nothing,
  'leader-elect': nothing,
  address: says('lost', 'controller.metrics.port and controller.healthProbe.port of the chart'),
  profiling: nothing,
  v: says('lost', LOGGING),
  vmodule: says('lost', LOGGING),
  stderrthreshold: says('lost', LOGGING),
  logtostderr: says('lost', LOGGING),
  alsologtostderr: says('lost', LOGGING),
  'skip-headers': nothing,
  'log-file': says('lost', LOGGING),
  regional: nothing,
  'unremovable-node-recheck-timeout': nothing,
  'initial-node-group-backoff-duration': says('lost', 'an offering without capacity is not used for three minutes'),
  'max-node-group-backoff-duration': says('lost', 'an offering without capacity is not used for three minutes'),
  'node-group-backoff-reset-timeout': says('lost', 'an offering without capacity is not used for three minutes'),
  'ok-total-unready-count': nothing,
  'max-total-unready-percentage': nothing,
  'cordon-node-before-terminating': says('changed', 'nodes are tainted karpenter.sh/disrupted before they are drained'),
  'record-duplicated-events': nothing,
  'kube-client-qps': says('lost', 'KUBE_CLIENT_QPS in controller.env of the chart'),
  'kube-client-burst': says('lost', 'KUBE_CLIENT_BURST in controller.env of the chart'),
};

/** Applies the flags of cluster-autoscaler to groups, and adds notes for each flag. */
export function applyFlags(groups: readonly NodeGroup[], part: DocumentPart, note: TakeNote): void {
  for (const { name, value, path } of part.flags ?? containerFlags(part)) {
    const apply = Object.hasOwn(FLAGS, name) ? FLAGS[name] : undefined;
    const said: readonly Said[] = apply?.(groups, value) ?? [['lost', 'has no known counterpart']];
    for (const [level, text] of said) note(level, path, `--${name}: ${text}`);
  }
}

/** Returns the flags of a Deployment's containers. */
function containerFlags({ field }: DocumentPart): readonly GivenFlag[] {
  const containers = field.at('spec').at('template').at('spec').at('containers').items();
  return containers.flatMap((container, index) =>
    ['command', 'args'].flatMap((list) =>
      flagsIn(textsOf(container.at(list))).map(({ position, ...flag }) => ({
        ...flag,
        path: ['spec', 'template', 'spec', 'containers', index, list, position],
      })),
    ),
  );
}

interface PositionedFlag extends Omit<GivenFlag, 'path'> {
  readonly position: number;
}

function flagsIn(words: readonly string[]): readonly PositionedFlag[] {
  return words.flatMap((text, position) => {
    const word = text.trim();
    if (!/^--?\w/.test(word)) return [];
    const equals = word.indexOf('=');
    const name = word.slice(0, equals < 0 ? undefined : equals).replace(/^-+/, '');
    if (equals >= 0) return [{ name, value: word.slice(equals + 1), position }];
    const next = words[position + 1];
    return [{ name, value: next === undefined || next.startsWith('-') ? 'true' : next, position }];
  });
}

/** Returns true if a Deployment runs cluster-autoscaler, or if the part contains values of its chart. */
export function isClusterAutoscaler({ field, flags }: DocumentPart): boolean {
  if (flags !== undefined) return true;
  const containers = field.at('spec').at('template').at('spec').at('containers').items();
  return containers.some((container) =>
    [...textsOf(container.at('command')), String(container.at('image').value ?? '')].some((text) =>
      text.includes('cluster-autoscaler'),
    ),
  );
}

function expander(_: readonly NodeGroup[], value: string): readonly Said[] {
  return value.split(',').map((name) => {
    if (name === 'priority')
      return ['changed', 'priority becomes spec.weight, from the ConfigMap cluster-autoscaler-priority-expander'];
    return [name === 'price' || name === 'least-waste' ? 'changed' : 'lost', `${name}: ${BY_PRICE}`];
  });
}

function waiting(groups: readonly NodeGroup[], value: string): readonly Said[] {
  try {
    parseDuration(value);
  } catch (error) {
    return [['lost', `cannot be parsed: ${messageOf(error)}`]];
  }
  for (const { disruption } of groups) if (disruption.consolidateAfter !== 'Never') disruption.consolidateAfter = value;
  return [['changed', `spec.disruption.consolidateAfter: ${value}, since a pod was last added or removed`]];
}

/** Returns notes for a flag that protects nodes by default. Karpenter has no such protection. */
function keeping(what: string): Apply {
  return (_, value) => (value === 'false' ? [['changed', `${what}, as before`]] : [['lost', `${what}; ${BLOCKING}`]]);
}

type Reason = 'Empty' | 'Underutilized' | 'Drifted';

const isCount = (value: string): boolean => /^\d{1,9}$/.test(value);

function budget(groups: readonly NodeGroup[], value: string, reasons?: readonly Reason[]): readonly Said[] {
  if (!isCount(value)) return [['lost', `${value} is not a number of nodes`]];
  const limit = { nodes: value, ...(reasons ? { reasons: [...reasons] } : {}) };
  for (const { disruption } of groups) disruption.budgets = [...(disruption.budgets ?? []), limit];
  return [['changed', `a budget of ${value} nodes at a time, in spec.disruption.budgets of each NodePool`]];
}

function graceful(groups: readonly NodeGroup[], value: string): readonly Said[] {
  if (!isCount(value)) return [['lost', `${value} is not a number of seconds`]];
  for (const group of groups) group.terminationGracePeriod = `${value}s`;
  return [['changed', 'spec.template.spec.terminationGracePeriod, which limits the whole drain of a node']];
}

/** Applies a size, `min:max:name`. */
function sizes(groups: readonly NodeGroup[], value: string): readonly Said[] {
  const [min = '', max = '', ...rest] = value.split(':');
  const name = rest.join(':');
  if (!isCount(min) || !isCount(max)) return [['lost', `${value} is not min:max:name`]];
  const own = groups.find((group) => group.name === name);
  if (own === undefined) return [['lost', `the files contain no group ${name}`]];
  setSize(own, { min: Number(min), max: Number(max) }, []);
  return [['changed', `spec.limits of the NodePool of ${own.name}`]];
}

function startupTaint(groups: readonly NodeGroup[], value: string): readonly Said[] {
  for (const group of groups) {
    const taint = group.taints.find(({ key }) => key === value) ?? { key: value, effect: 'NoSchedule' as const };
    group.taints.splice(0, group.taints.length, ...group.taints.filter(({ key }) => key !== value));
    group.startupTaints = [...group.startupTaints, taint];
  }
  return [
    ['assumed', `startupTaints with ${value}:NoSchedule; correct the effect, and make sure that the taint is removed`],
  ];
}
