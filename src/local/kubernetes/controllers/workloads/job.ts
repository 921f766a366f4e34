/** Jobs: run pods until enough of them have succeeded or too many have failed. */

import { type Condition, JOB_CONTROLLER, POD, type Pod } from '#api/objects';
import { timestamp } from '#lib';
import { isGone } from '../../../client.ts';
import { withConditions } from '../../../conditions.ts';
import { controllerUid } from '../../../owner-references.ts';
import { eventReporter, type Parts, type Report } from '../../../parts.ts';
import { isOver } from '../../scheduler/cluster.ts';
import { control } from './control.ts';
import { hasRestartedTooOften, isFinished, JobHistory, replacesEndedOnly } from './job-history.ts';
import { JOBS, type Job } from './kinds.ts';
import { createPod, deletePod, isPodActive, isPodReady, ownedPods, podOf } from './pods.ts';
import { scaleDownOrder } from './scale-down-order.ts';
import { writeStatus } from './status.ts';

/**
 * Returns the number of pods that should run now.
 * @param active number of running pods
 */
export function activeWished({ spec }: Job, succeeded: number, active: number): number {
  if (spec.suspend) return 0;
  const parallelism = spec.parallelism ?? 1;
  // Without a number of completions, the Job is complete after the first success, and the remaining pods finish.
  if (spec.completions === undefined && spec.parallelism !== undefined) return succeeded > 0 ? active : parallelism;
  return Math.min(parallelism, Math.max(0, (spec.completions ?? 1) - succeeded));
}

const hasEnoughSuccesses = ({ spec }: Job, succeeded: number): boolean =>
  succeeded >= (spec.completions ?? 1) && !spec.suspend;

export async function startJobs(parts: Parts): Promise<void> {
  const jobs = new Jobs(parts);
  await control(parts, { kind: JOBS, reconcile: (job) => jobs.reconcile(job) });
}

class Jobs {
  readonly #parts: Parts;
  readonly #report: Report;
  /** Histories of unfinished Jobs, by UID. */
  readonly #histories = new Map<string, JobHistory>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#report = eventReporter('job-controller', parts);
    parts.caches.of(POD).subscribe((now, pod) => {
      if (now === undefined && pod) this.#histories.get(controllerUid(pod) ?? '')?.removed(pod);
    });
    parts.caches.of(JOBS).subscribe((now, job) => {
      if (!now || isFinished(now)) this.#histories.delete((now ?? job)?.metadata.uid ?? '');
    });
  }

  /** Creates or deletes pods. Returns the time until more pods may be created. */
  async #adjust(job: Job, history: JobHistory, { active, terminating }: Pods): Promise<number | undefined> {
    const wished = activeWished(job, history.succeeded, active.length);
    if (active.length > wished) {
      await this.#delete(scaleDownOrder(active).slice(0, active.length - wished));
      return undefined;
    }
    const missing = wished - active.length - (replacesEndedOnly(job) ? terminating.length : 0);
    if (missing <= 0) return undefined;
    const waitMs = history.backoffMs(this.#parts.clock.now());
    if (waitMs > 0) return waitMs;
    const names = { 'batch.kubernetes.io/job-name': job.metadata.name, 'job-name': job.metadata.name };
    const pod = podOf(job.spec.template, job);
    const labelled = { ...pod, metadata: { ...pod.metadata, labels: { ...names, ...pod.metadata.labels } } };
    await Promise.all(Array.from({ length: missing }, () => createPod(this.#parts, labelled)));
    this.#report(job, 'Normal', 'SuccessfulCreate', `Created ${missing} pod${missing === 1 ? '' : 's'}`);
    return undefined;
  }

  async #delete(pods: readonly Pod[]): Promise<void> {
    await Promise.all(pods.map((pod) => deletePod(this.#parts, pod)));
  }

  #failure(job: Job, failed: number, active: readonly Pod[]): Omit<Condition, 'lastTransitionTime'> | undefined {
    if (failed <= (job.spec.backoffLimit ?? 6) && !hasRestartedTooOften(job, active)) return undefined;
    const message = 'Job has reached the specified backoff limit';
    return { type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message };
  }

  /** Deletes a finished Job after its time to live. */
  async #expire(job: Job): Promise<number | undefined> {
    const ttlSeconds = job.spec.ttlSecondsAfterFinished;
    if (ttlSeconds === undefined) return undefined;
    const since = Date.parse(job.status?.completionTime ?? job.metadata.creationTimestamp ?? '');
    const waitMs = since + 1000 * ttlSeconds - this.#parts.clock.now();
    if (waitMs > 0) return waitMs;
    try {
      await this.#parts.client.delete(JOBS, job.metadata, { uid: job.metadata.uid });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    return undefined;
  }

  async reconcile(job: Job): Promise<number | undefined> {
    if (isFinished(job)) return this.#expire(job);
    if ((job.spec.managedBy ?? JOB_CONTROLLER) !== JOB_CONTROLLER) return undefined;
    const before = this.#podsOf(job);
    const history = this.#historyOf(job, before.all);
    history.count(job, before.all);
    const failure = this.#failure(job, history.failed, before.active);
    if (failure) await this.#delete(before.active);
    const waitMs = failure ? undefined : await this.#adjust(job, history, before);
    const { active, terminating } = this.#podsOf(job);
    const isIdle = active.length + terminating.length === 0;
    const success = isIdle && hasEnoughSuccesses(job, history.succeeded) ? COMPLETE : undefined;
    const ended = isIdle ? (failure ?? success) : undefined;
    const now = timestamp(this.#parts.clock.now());
    await writeStatus(this.#parts, JOBS, job, {
      active: active.length,
      ready: active.filter(isPodReady).length,
      terminating: terminating.length,
      succeeded: history.succeeded,
      failed: history.failed,
      startTime: job.status?.startTime ?? now,
      ...(ended && { conditions: withConditions(job.status?.conditions, [ended], now) }),
      ...(ended === COMPLETE && { completionTime: now }),
    });
    return waitMs;
  }

  #podsOf(job: Job): Pods {
    const all = ownedPods(this.#parts, job);
    return {
      all,
      active: all.filter(isPodActive),
      terminating: all.filter((pod) => !isPodActive(pod) && !isOver(pod)),
    };
  }

  #historyOf(job: Job, pods: readonly Pod[]): JobHistory {
    const uid = job.metadata.uid ?? '';
    const history = this.#histories.get(uid) ?? new JobHistory(job, pods);
    this.#histories.set(uid, history);
    return history;
  }
}

interface Pods {
  readonly all: readonly Pod[];
  readonly active: readonly Pod[];
  /** Pods that are being deleted and have not terminated yet. */
  readonly terminating: readonly Pod[];
}

const COMPLETE = {
  type: 'Complete',
  status: 'True',
  reason: 'CompletionsReached',
  message: 'Reached expected number of succeeded pods',
} as const;
