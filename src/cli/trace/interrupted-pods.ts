/**
 * Pods of Jobs that lost their node in the recorded cluster. The Job continues with another pod, which does the same
 * work. A trace must contain this work once, because the replay has other nodes and evictions.
 */

import { getCondition } from '../../api/conditions.ts';
import type { KubeObject, Pod } from '../../api/kubernetes.ts';

export interface InterruptedPod {
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
