/** What pods are and what may be done with them. Times are milliseconds since the epoch. */
import { parseDuration } from '../api/duration.ts';
import { DELETION_COST_ANNOTATION, DISRUPTED_TAINT, DO_NOT_DISRUPT_ANNOTATION } from '../api/labels.ts';
import type { EnginePod } from './input.ts';
import { tolerates } from './taints.ts';

/** A pod that is still there this long after its deletion time is stuck: nobody waits for it. */
export const STUCK_MS = 60_000;

/** `namespace/name`, as messages and plans name pods. */
export const podKey = (pod: EnginePod): string => `${pod.metadata.namespace ?? 'default'}/${pod.metadata.name}`;

const isOwnedBy = (pod: EnginePod, apiVersion: string, kind: string): boolean =>
  (pod.metadata.ownerReferences ?? []).some((owner) => owner.apiVersion === apiVersion && owner.kind === kind);

export const isOwnedByDaemonSet = (pod: EnginePod): boolean => isOwnedBy(pod, 'apps/v1', 'DaemonSet');
const isOwnedByStatefulSet = (pod: EnginePod): boolean => isOwnedBy(pod, 'apps/v1', 'StatefulSet');
/** A static pod that its kubelet shows in the API. */
const isMirror = (pod: EnginePod): boolean => isOwnedBy(pod, 'v1', 'Node');

export const isTerminal = (pod: EnginePod): boolean =>
  pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
export const isTerminating = (pod: EnginePod): boolean => pod.metadata.deletionTimestamp !== undefined;
/** Neither finished nor going away. */
export const isActive = (pod: EnginePod): boolean => !isTerminal(pod) && !isTerminating(pod);
export const isScheduled = (pod: EnginePod): boolean => Boolean(pod.spec.nodeName);

const isStuckTerminating = (pod: EnginePod, nowMs: number): boolean =>
  pod.metadata.deletionTimestamp !== undefined && nowMs - Date.parse(pod.metadata.deletionTimestamp) > STUCK_MS;

/** Waits for a node that kube-scheduler could not find, so that one may be bought for it. */
export function isProvisionable(pod: EnginePod): boolean {
  const unschedulable = (pod.status?.conditions ?? []).some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable',
  );
  if (!unschedulable || isScheduled(pod) || pod.status?.nominatedNodeName) return false;
  return !isOwnedByDaemonSet(pod) && !isMirror(pod);
}

/** A pod that will need another place once its node goes. */
export function isReschedulable(pod: EnginePod): boolean {
  const comesBack = isActive(pod) || (isTerminating(pod) && isOwnedByStatefulSet(pod));
  return comesBack && !isOwnedByDaemonSet(pod) && !isMirror(pod);
}

const toleratesDisruption = (pod: EnginePod): boolean =>
  (pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, DISRUPTED_TAINT));

function positiveDuration(text: string): number | undefined {
  try {
    const ms = parseDuration(text);
    return ms > 0 ? ms : undefined;
  } catch {
    return undefined; // users may write anything there: what cannot be read counts as absent
  }
}

/**
 * Whether the pod asks not to be disrupted now: `"true"`, or a duration that has not passed since it started. A value
 * that cannot be read, or is not positive, counts as absent.
 */
export function doNotDisrupt(pod: EnginePod, nowMs: number): boolean {
  const value = pod.metadata.annotations?.[DO_NOT_DISRUPT_ANNOTATION];
  if (value === undefined) return false;
  if (value === 'true') return true;
  const duration = positiveDuration(value);
  if (duration === undefined) return false;
  const startTime = pod.status?.startTime;
  return startTime === undefined || nowMs - Date.parse(startTime) < duration;
}

/** Whether draining evicts it through the eviction API, at the latest when nothing protects it any more. */
export const isEverEvictable = (pod: EnginePod): boolean =>
  isActive(pod) && !toleratesDisruption(pod) && !isMirror(pod);

/** Whether draining evicts it through the eviction API. */
export const isEvictable = (pod: EnginePod, nowMs: number): boolean =>
  isEverEvictable(pod) && !doNotDisrupt(pod, nowMs);

/** Whether a drain waits for it: daemon pods and those that must not be disrupted are waited for as well. */
export const isDrainable = (pod: EnginePod, nowMs: number): boolean =>
  !toleratesDisruption(pod) && !isMirror(pod) && !isStuckTerminating(pod, nowMs);

/** Bound to a node that is being drained, and in its way until it is gone. */
export const isWaitingForEviction = (pod: EnginePod, nowMs: number): boolean =>
  !isTerminal(pod) && isDrainable(pod, nowMs);

/** How dear it is to move a pod: 1, shifted by its deletion cost and priority, between -10 and 10. */
export function evictionCost(pod: EnginePod): number {
  const declared = Number(pod.metadata.annotations?.[DELETION_COST_ANNOTATION] ?? 0);
  const deletionCost = Number.isFinite(declared) ? declared : 0;
  const cost = 1 + deletionCost / 2 ** 27 + (pod.spec.priority ?? 0) / 2 ** 25;
  return Math.min(10, Math.max(-10, cost));
}
