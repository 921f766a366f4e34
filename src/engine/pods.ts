/** Classifies pods and the operations that are possible on them. Times are milliseconds since the epoch. */

import { DELETION_COST_ANNOTATION, DISRUPTED_TAINT, DO_NOT_DISRUPT_ANNOTATION } from '#api/objects';
import { parseDuration } from '#api/values';
import { tryRun } from '#lib';
import type { EnginePod } from './input.ts';
import { tolerates } from './taints.ts';

/** Time after its deletion timestamp at which an existing pod counts as stuck. No component waits for a stuck pod. */
export const STUCK_MS = 60_000;

export const namespaceOf = ({ metadata }: EnginePod): string => metadata.namespace ?? 'default';

/** Returns `namespace/name`, as in messages and plans. */
export const podKey = (pod: EnginePod): string => `${namespaceOf(pod)}/${pod.metadata.name}`;

const isOwnedBy = (pod: EnginePod, apiVersion: string, kind: string): boolean =>
  (pod.metadata.ownerReferences ?? []).some((owner) => owner.apiVersion === apiVersion && owner.kind === kind);

export const isOwnedByDaemonSet = (pod: EnginePod): boolean => isOwnedBy(pod, 'apps/v1', 'DaemonSet');
/** Returns the name of the DaemonSet of a pod. */
export const daemonSetOf = ({ ownerReferences = [], name }: EnginePod['metadata']): string =>
  ownerReferences.find(({ kind }) => kind === 'DaemonSet')?.name ?? name;
const isOwnedByStatefulSet = (pod: EnginePod): boolean => isOwnedBy(pod, 'apps/v1', 'StatefulSet');
/** Returns true for a static pod that its kubelet mirrors to the API. */
const isMirror = (pod: EnginePod): boolean => isOwnedBy(pod, 'v1', 'Node');

export const isTerminal = (pod: EnginePod): boolean =>
  pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
export const isTerminating = (pod: EnginePod): boolean => pod.metadata.deletionTimestamp !== undefined;
/** Returns true if the pod is neither finished nor terminating. */
export const isActive = (pod: EnginePod): boolean => !isTerminal(pod) && !isTerminating(pod);
export const isScheduled = (pod: EnginePod): boolean => Boolean(pod.spec.nodeName);

const isStuckTerminating = (pod: EnginePod, nowMs: number): boolean =>
  pod.metadata.deletionTimestamp !== undefined && nowMs - Date.parse(pod.metadata.deletionTimestamp) > STUCK_MS;

/**
 * Returns true if kube-scheduler found no node for the pod. A node may be launched, unless the pod waits for a preemption
 * (`preemption.ts`).
 */
export function isUnschedulable(pod: EnginePod): boolean {
  const unschedulable = (pod.status?.conditions ?? []).some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable',
  );
  return unschedulable && !isScheduled(pod) && !isOwnedByDaemonSet(pod) && !isMirror(pod);
}

/** Returns true if the pod will need another node after its node is removed. */
export function isReschedulable(pod: EnginePod): boolean {
  const comesBack = isActive(pod) || (isTerminating(pod) && isOwnedByStatefulSet(pod));
  return comesBack && !isOwnedByDaemonSet(pod) && !isMirror(pod);
}

const toleratesDisruption = (pod: EnginePod): boolean =>
  (pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, DISRUPTED_TAINT));

/**
 * Returns true if the pod must not be disrupted now: the value is `"true"`, or a duration since its start that has not elapsed.
 * A value that is not valid or not positive counts as absent.
 */
export function doNotDisrupt(pod: EnginePod, nowMs: number): boolean {
  const value = pod.metadata.annotations?.[DO_NOT_DISRUPT_ANNOTATION];
  if (value === undefined) return false;
  if (value === 'true') return true;
  const duration = tryRun(() => parseDuration(value)) ?? 0;
  if (duration <= 0) return false;
  const startTime = pod.status?.startTime;
  return startTime === undefined || nowMs - Date.parse(startTime) < duration;
}

/** Returns true if a drain evicts the pod with the eviction API, now or after its protection ends. */
export const isEverEvictable = (pod: EnginePod): boolean =>
  isActive(pod) && !toleratesDisruption(pod) && !isMirror(pod);

/** Returns true if a drain evicts the pod with the eviction API now. */
export const isEvictable = (pod: EnginePod, nowMs: number): boolean =>
  isEverEvictable(pod) && !doNotDisrupt(pod, nowMs);

/** Returns true if a drain waits for the pod. A drain also waits for daemon pods and for pods that must not be disrupted. */
export const isDrainable = (pod: EnginePod, nowMs: number): boolean =>
  !toleratesDisruption(pod) && !isMirror(pod) && !isStuckTerminating(pod, nowMs);

/** Returns true for a pod on a draining node if the drain must wait until the pod is gone. */
export const isWaitingForEviction = (pod: EnginePod, nowMs: number): boolean =>
  !isTerminal(pod) && isDrainable(pod, nowMs);

/** Returns the cost of moving a pod: 1, shifted by its deletion cost and priority, between -10 and 10. */
export function evictionCost(pod: EnginePod): number {
  const declared = Number(pod.metadata.annotations?.[DELETION_COST_ANNOTATION] ?? 0);
  const deletionCost = Number.isFinite(declared) ? declared : 0;
  const cost = 1 + deletionCost / 2 ** 27 + (pod.spec.priority ?? 0) / 2 ** 25;
  return Math.min(10, Math.max(-10, cost));
}
