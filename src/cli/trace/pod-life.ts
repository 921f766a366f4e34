/** Times at which a pod was created, started and ended according to its status, in milliseconds since the epoch. */

import { getCondition, type KubeObject, type Pod } from '#api/objects';
import { isTerminal } from '#engine/model';
import { timeOf } from '#lib';

export interface PodLife {
  readonly createdMs: number;
  readonly startedMs?: number;
  readonly endedMs?: number;
}

/** Times of containers in a complete status, as in an audit log. */
interface ContainerTimes {
  readonly state?: {
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: { readonly startedAt?: string; readonly finishedAt?: string };
  };
}

/**
 * @param before previously known times
 * @param seenMs time of the observation, used as the end of a pod whose status contains no end time
 */
export function lifeOf(pod: Pod, before: PodLife | undefined, seenMs: number): PodLife {
  const createdMs = before?.createdMs ?? orElse(timeOf(pod.metadata.creationTimestamp), seenMs);
  const startedMs = before?.startedMs ?? startOf(pod);
  const endedMs = isTerminal(pod) ? orElse(endOf(pod), seenMs) : undefined;
  return {
    createdMs,
    ...(startedMs === undefined ? {} : { startedMs }),
    ...(endedMs === undefined ? {} : { endedMs }),
  };
}

const orElse = (ms: number, other: number): number => (Number.isNaN(ms) ? other : ms);

const containersOf = ({ status }: Pod): readonly ContainerTimes[] =>
  (status?.containerStatuses ?? []) as readonly ContainerTimes[];

const readyOf = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === 'Ready');

/** Returns the time when the first container started, or the pod became Ready, or the kubelet accepted it. */
function startOf(pod: Pod): number | undefined {
  const running = containersOf(pod)
    .map(({ state }) => timeOf(state?.terminated?.startedAt ?? state?.running?.startedAt))
    .filter((ms) => !Number.isNaN(ms));
  if (running.length > 0) return Math.min(...running);
  const ready = readyOf(pod);
  if (ready?.status === 'True') return orUndefined(timeOf(ready.lastTransitionTime));
  return isTerminal(pod) ? orUndefined(timeOf(pod.status?.startTime)) : undefined;
}

const orUndefined = (ms: number): number | undefined => (Number.isNaN(ms) ? undefined : ms);

/**
 * Returns the time when the last container ended. If the status has no container times, uses the condition Ready,
 * which becomes false at the end.
 */
function endOf(pod: Pod): number {
  const ended = containersOf(pod)
    .map(({ state }) => timeOf(state?.terminated?.finishedAt))
    .filter((ms) => !Number.isNaN(ms));
  if (ended.length > 0) return Math.max(...ended);
  const ready = readyOf(pod);
  return ready?.status === 'False' && ready.reason === 'PodCompleted' ? timeOf(ready.lastTransitionTime) : Number.NaN;
}

/**
 * Pods of Jobs that lost their node in the recorded cluster. The Job continues with another pod, which does the same
 * work. A trace must contain this work once, because the replay has other nodes and evictions.
 */
interface InterruptedPod {
  /** Pod in the form of the trace. */
  readonly object: KubeObject;
  readonly createdMs: number;
  readonly interruptedMs: number;
}

export class InterruptedPods {
  /** By the uid of their Job, in order of their creation. */
  readonly #byJob = new Map<string, readonly InterruptedPod[]>();

  put(job: string, pod: InterruptedPod): void {
    this.#byJob.set(job, [...(this.#byJob.get(job) ?? []), pod]);
  }

  /** Returns and removes the first pod that a new pod of the same Job replaces. */
  take(job: string): InterruptedPod | undefined {
    const [first, ...others] = this.#byJob.get(job) ?? [];
    if (others.length > 0) this.#byJob.set(job, others);
    else this.#byJob.delete(job);
    return first;
  }

  /** Pods that no other pod has replaced. */
  get all(): readonly InterruptedPod[] {
    return [...this.#byJob.values()].flat();
  }
}

/** Returns true if an eviction, a taint or the end of the node ends the pod. */
export const isInterrupted = (pod: Pod): boolean => getCondition(pod, 'DisruptionTarget')?.status === 'True';
