/** Preemption: kube-scheduler deletes pods with a lower priority to make room for a pod on its nominated node. */
import { getCondition, type Pod } from '#api/objects';
import { timeOf } from '#lib';
import type { StateNode } from './model.ts';
import { readableRequests } from './placement-requests.ts';
import { isActive, isTerminal, isUnschedulable, STUCK_MS } from './pods.ts';
import { addResources, fits, subtractResources } from './resources.ts';
import { isAdmitted } from './taints.ts';

/** `running`: pods on the node are being deleted. `starting`: kube-scheduler has just nominated the node. */
export type Preemption = 'starting' | 'running';

/**
 * Time after kube-scheduler's first refusal until it has deleted the pods. kube-scheduler nominates the node in the
 * same write as the refusal, and deletes pods afterwards.
 */
export const STARTING_MS = 10_000;
/** Grace period in seconds up to which a pod waits for a preempted pod. A new node joins sooner. */
const LONGEST_GRACE = 300;
/** Default of Kubernetes. */
const DEFAULT_GRACE = 30;

/**
 * Returns the preemption that the pod waits for, or undefined if a node may be launched for the pod. A nominated node can have
 * other reasons: the operator nominates nodes, and kube-scheduler does so before it binds a pod with volumes. The result
 * depends only on objects and the time. The preemption ends when the last preempted pod is gone or stuck.
 *
 * @param nominated node that `status.nominatedNodeName` of the pod names
 */
export function preemptionFor(pod: Pod, nominated: StateNode | undefined, nowMs: number): Preemption | undefined {
  if (nominated === undefined || !isUnschedulable(pod) || !isOpen(nominated, pod)) return undefined;
  const staying = nominated.pods.filter(isActive);
  const lower = nominated.pods.filter((other) => priorityOf(other) < priorityOf(pod));
  if (lower.some((other) => isPreempted(other, nowMs))) return hasRoom(nominated, pod, staying) ? 'running' : undefined;
  if (!isJustRefused(pod, nowMs) || lower.length === 0) return undefined;
  const rest = staying.filter((other) => !lower.includes(other));
  return hasRoom(nominated, pod, rest) ? 'starting' : undefined;
}

const priorityOf = ({ spec }: Pod): number => spec.priority ?? 0;

/** Returns true if kube-scheduler refused the pod for the first time within the last seconds. */
export function isJustRefused(pod: Pod, nowMs: number): boolean {
  // clocks of kube-scheduler and of the API server differ slightly
  return Math.abs(nowMs - timeOf(getCondition(pod, 'PodScheduled')?.lastTransitionTime)) < STARTING_MS;
}

/** Returns true if kube-scheduler is deleting the pod, and the pod will end soon. */
function isPreempted(pod: Pod, nowMs: number): boolean {
  const { deletionTimestamp } = pod.metadata;
  if (deletionTimestamp === undefined || isTerminal(pod)) return false;
  const { status, reason } = getCondition(pod, 'DisruptionTarget') ?? {};
  const isOfScheduler = status === 'True' && reason === 'PreemptionByScheduler';
  const { terminationGracePeriodSeconds = DEFAULT_GRACE } = pod.spec;
  return (
    isOfScheduler && terminationGracePeriodSeconds <= LONGEST_GRACE && nowMs - timeOf(deletionTimestamp) <= STUCK_MS
  );
}

/** Returns true if the node stays and the pod tolerates its taints. */
const isOpen = ({ node, markedForDeletion }: StateNode, { spec }: Pod): boolean =>
  node?.metadata.deletionTimestamp === undefined &&
  !markedForDeletion &&
  isAdmitted(spec.tolerations, node?.spec?.taints ?? []);

/** Returns true if the pod fits on the node beside these pods. */
const hasRoom = ({ allocatable }: StateNode, pod: Pod, staying: readonly Pod[]): boolean =>
  fits(readableRequests(pod), subtractResources(allocatable, addResources(...staying.map(readableRequests))));
