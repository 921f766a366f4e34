/**
 * Counts the failures of Jobs. As in the Job controller, a pod counts when it fails, and when it is deleted before it has
 * succeeded. Failures before the start of this process are unknown, except those of pods that still exist.
 */
import { LRUCache } from 'lru-cache';
import type { Pod } from '#api/objects';
import { jobOf } from '#engine/model';

/** Maximum number of Jobs. Beyond this number, the failures of the Job without a change for the longest time are forgotten. */
const MOST_JOBS = 10_000;

export class JobFailures {
  readonly #counts = new LRUCache<string, number>({ max: MOST_JOBS });

  /** Receives every change of a pod. */
  podChanged(isGone: boolean, pod: Pod, before: Pod | undefined): void {
    const job = jobOf(pod);
    if (job === undefined || !(isGone ? hasNotSucceeded(pod) : hasFailed(pod))) return;
    if (before === undefined || !hasFailed(before)) this.#counts.set(job, this.of(job) + 1);
  }

  /** Returns the failures of the Job with this UID. */
  readonly of = (job: string): number => this.#counts.peek(job) ?? 0;
}

const hasNotSucceeded = ({ status }: Pod): boolean => status?.phase !== 'Succeeded';

const hasFailed = (pod: Pod): boolean =>
  pod.status?.phase === 'Failed' || (pod.metadata.deletionTimestamp !== undefined && hasNotSucceeded(pod));
