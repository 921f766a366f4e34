/** Checks that new nodes of a rollout are in order: initialized in time, no failed conditions, and ready pods. */
import {
  type Condition,
  controllerOf,
  getCondition,
  isTrue,
  type Node,
  type NodeClaim,
  type Pod,
  type RolloutTimes,
} from '#api/objects';
import { formatDuration } from '#api/values';
import { timeOf } from '#lib';
import { REGISTRATION_TIMEOUT_MS } from '../../node-join.ts';
import { isActive } from '../../pods.ts';

/** A NodeClaim with its node and pods. */
export interface RolloutNode {
  readonly nodeClaim: NodeClaim;
  readonly node?: Node | undefined;
  readonly pods: readonly Pod[];
}

interface Comparison {
  /** Nodes that were launched since the start of the rollout and are not drifted. */
  readonly fresh: readonly RolloutNode[];
  /** Remaining nodes of the NodePool. */
  readonly others: readonly RolloutNode[];
  /** UIDs of controllers whose pods do not count. Undefined if no pods count. */
  readonly unready: readonly string[] | undefined;
  readonly times: RolloutTimes;
  readonly nowMs: number;
}

/** Minimum time of a failed condition. Conditions can change while a node settles. */
const LASTING_MS = 60_000;
/** Time before the registration timeout from which a node that has not registered counts as failed. */
const BEFORE_TIMEOUT_MS = 60_000;

/**
 * Returns the cause if a rollout must halt. A condition or an unready workload is a cause only if it is more
 * frequent on new nodes than on the remaining nodes of the NodePool.
 */
export function rolloutFault(comparison: Comparison): string | undefined {
  return unjoinedNode(comparison) ?? failedCondition(comparison) ?? unreadyPod(comparison);
}

const nameOf = ({ nodeClaim, node }: RolloutNode): string =>
  node === undefined ? `NodeClaim ${nodeClaim.metadata.name}` : `node ${node.metadata.name}`;

/** Nodes without an instance do not count: the provider may lack capacity. */
function unjoinedNode({ fresh, times, nowMs }: Comparison): string | undefined {
  for (const each of fresh) {
    const { nodeClaim } = each;
    if (!isTrue(nodeClaim, 'Launched') || isTrue(nodeClaim, 'Initialized')) continue;
    const { creationTimestamp, deletionTimestamp } = nodeClaim.metadata;
    const endMs = deletionTimestamp === undefined ? nowMs : timeOf(deletionTimestamp);
    const limitMs = isTrue(nodeClaim, 'Registered')
      ? times.initializedWithinMs
      : Math.min(times.initializedWithinMs, REGISTRATION_TIMEOUT_MS - BEFORE_TIMEOUT_MS);
    if (endMs - timeOf(creationTimestamp) < limitMs) continue;
    const state = isTrue(nodeClaim, 'Registered') ? 'initialized' : 'registered';
    return `${nameOf(each)} was not ${state} within ${formatDuration(limitMs)}`;
  }
  return undefined;
}

/** Conditions that every kubelet has. */
const OF_KUBELET: ReadonlySet<string> = new Set([
  'Ready',
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
  'NetworkUnavailable',
]);
/** Conditions of the lifecycle, which do not describe the health of a node. */
const LIFECYCLE = /^(Maintenance|Drain|GracefulNodeShutdown)/;

/** By convention, conditions whose type ends with Ready are healthy if they are True, and other conditions if they are False. */
const isFailed = ({ type, status }: Condition): boolean =>
  type.endsWith('Ready') ? status !== 'True' : status === 'True' && !LIFECYCLE.test(type);

function failedCondition({ fresh, others, nowMs }: Comparison): string | undefined {
  const joined = fresh.filter(({ nodeClaim, node }) => isTrue(nodeClaim, 'Initialized') && isPresent(nodeClaim, node));
  for (const each of joined) {
    for (const condition of each.node?.status?.conditions ?? []) {
      const { type, reason = '' } = condition;
      if (!isFailed(condition) || nowMs - timeOf(condition.lastTransitionTime) < LASTING_MS) continue;
      const failed = ({ node }: RolloutNode): boolean =>
        node?.status?.conditions?.some((o) => o.type === type && isFailed(o)) === true;
      const isKnown = OF_KUBELET.has(type) || others.some(({ node }) => node !== undefined && getCondition(node, type));
      if (
        isKnown &&
        isMoreFrequent(
          joined,
          others.filter(({ node }) => node !== undefined),
          failed,
        )
      )
        return `${nameOf(each)} has the condition ${type}=${condition.status}${reason === '' ? '' : ` (${reason})`}`;
    }
  }
  return undefined;
}

const isPresent = ({ metadata }: NodeClaim, node: Node | undefined): boolean =>
  node !== undefined && metadata.deletionTimestamp === undefined && node.metadata.deletionTimestamp === undefined;

function isMoreFrequent<T>(here: readonly T[], elsewhere: readonly T[], test: (item: T) => boolean): boolean {
  const share = (items: readonly T[]): number => (items.length === 0 ? 0 : items.filter(test).length / items.length);
  return share(here) > share(elsewhere);
}

const isUnready = (pod: Pod): boolean => isActive(pod) && !(pod.status?.conditions ?? []).some(isReady);
const isReady = ({ type, status }: Pick<Condition, 'type' | 'status'>): boolean =>
  type === 'Ready' && status === 'True';

/** Returns the time at which a pod on a node became not ready. */
function unreadySinceMs({ status, metadata }: Pod): number {
  const times = ['Ready', 'PodScheduled'].map(
    (type) => status?.conditions?.find((condition) => condition.type === type)?.lastTransitionTime,
  );
  return timeOf(times.find((time) => time !== undefined) ?? metadata.creationTimestamp);
}

const workloadOf = (pod: Pod): string => controllerOf(pod)?.uid ?? pod.metadata.uid ?? '';

function unreadyPod({ fresh, others, unready, times, nowMs }: Comparison): string | undefined {
  if (unready === undefined) return undefined;
  for (const each of fresh.filter(({ nodeClaim, node }) => isPresent(nodeClaim, node))) {
    for (const pod of each.pods) {
      const workload = workloadOf(pod);
      if (!isUnready(pod) || nowMs - unreadySinceMs(pod) < times.podsReadyWithinMs) continue;
      if (unready.includes(workload) || !isWorse(workload, fresh, others)) continue;
      const { namespace = 'default', name } = pod.metadata;
      return `pod ${namespace}/${name} on ${nameOf(each)} was not ready within ${formatDuration(times.podsReadyWithinMs)}`;
    }
  }
  return undefined;
}

function isWorse(workload: string, fresh: readonly RolloutNode[], others: readonly RolloutNode[]): boolean {
  const podsOf = (nodes: readonly RolloutNode[]): readonly Pod[] =>
    nodes.flatMap(({ pods }) => pods.filter((pod) => isActive(pod) && workloadOf(pod) === workload));
  return isMoreFrequent(podsOf(fresh), podsOf(others), isUnready);
}

/** Maximum number of workloads in a record. With more, pods are no evidence about new nodes. */
const MOST_UNREADY = 100;

/** Returns the UIDs of the controllers with pods that are not ready, or undefined if there are too many. */
export function unreadyWorkloads(nodes: readonly RolloutNode[]): readonly string[] | undefined {
  const found = new Set(nodes.flatMap(({ pods }) => pods.filter(isUnready).map(workloadOf)));
  return found.size > MOST_UNREADY ? undefined : [...found].sort();
}
