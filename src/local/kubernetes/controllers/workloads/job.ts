/** Jobs: pods until enough of them have succeeded or too many have failed. */

import { isTrue } from '../../../../api/conditions.ts';
import type { Condition, Pod } from '../../../../api/kubernetes.ts';
import type { Clock } from '../../../../lib/clock.ts';
import { timestamp } from '../../../../lib/times.ts';
import { isGone, type ObjectClient } from '../../../client.ts';
import { withConditions } from '../../../conditions.ts';
import { eventReporter, type Parts, type Report } from '../../../parts.ts';
import { control } from './control.ts';
import { JOBS, type Job } from './kinds.ts';
import { createPod, deletePod, isActive, isReady, podOf, podsOf } from './pods.ts';
import { writeStatus } from './status.ts';

const isFinished = (job: Job): boolean => isTrue(job, 'Complete') || isTrue(job, 'Failed');

/** How many pods should run now. */
export function activeWished({ spec }: Job, succeeded: number): number {
  if (spec.suspend) return 0;
  const parallelism = spec.parallelism ?? 1;
  // Without a number of completions the first success ends the work, and the rest runs out.
  if (spec.completions === undefined && spec.parallelism !== undefined) return succeeded > 0 ? 0 : parallelism;
  return Math.min(parallelism, Math.max(0, (spec.completions ?? 1) - succeeded));
}

export async function startJobs(parts: Parts): Promise<void> {
  const jobs = new Jobs(parts);
  await control(parts, { kind: JOBS, reconcile: (job) => jobs.reconcile(job) });
}

class Jobs {
  readonly #parts: Parts;
  readonly #client: ObjectClient;
  readonly #clock: Clock;
  readonly #report: Report;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#client = parts.client;
    this.#clock = parts.clock;
    this.#report = eventReporter('job-controller', parts);
  }

  async #adjust(job: Job, active: readonly Pod[], wished: number): Promise<void> {
    const missing = wished - active.length;
    const names = { 'batch.kubernetes.io/job-name': job.metadata.name, 'job-name': job.metadata.name };
    const pod = podOf(job.spec.template, job);
    const labelled = { ...pod, metadata: { ...pod.metadata, labels: { ...names, ...pod.metadata.labels } } };
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => createPod(this.#parts, labelled)));
    if (missing > 0)
      this.#report(job, 'Normal', 'SuccessfulCreate', `Created ${missing} pod${missing === 1 ? '' : 's'}`);
    await Promise.all(active.slice(0, Math.max(0, -missing)).map((extra) => deletePod(this.#parts, extra)));
  }

  #outcome(job: Job, succeeded: number, failed: number, active: number): readonly Condition[] | undefined {
    const now = timestamp(this.#clock.now());
    if (failed > (job.spec.backoffLimit ?? 6)) {
      const message = 'Job has reached the specified backoff limit';
      const failure = { type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message } as const;
      return withConditions(job.status?.conditions, [failure], now);
    }
    const enough = activeWished(job, succeeded) === 0 && !job.spec.suspend && active === 0;
    if (!enough) return undefined;
    const message = 'Reached expected number of succeeded pods';
    const success = { type: 'Complete', status: 'True', reason: 'CompletionsReached', message } as const;
    return withConditions(job.status?.conditions, [success], now);
  }

  /** Deletes a finished job when its time to live is over. */
  async #expire(job: Job): Promise<number | undefined> {
    const ttlSeconds = job.spec.ttlSecondsAfterFinished;
    if (ttlSeconds === undefined) return undefined;
    const since = Date.parse(job.status?.completionTime ?? job.metadata.creationTimestamp ?? '');
    const waitMs = since + 1000 * ttlSeconds - this.#clock.now();
    if (waitMs > 0) return waitMs;
    try {
      await this.#client.delete(JOBS, job.metadata, { uid: job.metadata.uid });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    return undefined;
  }

  async reconcile(job: Job): Promise<number | undefined> {
    if (isFinished(job)) return this.#expire(job);
    const before = countsOf(podsOf(this.#parts, job));
    const ended = this.#outcome(job, before.succeeded, before.failed, before.active.length);
    await this.#adjust(job, before.active, ended ? 0 : activeWished(job, before.succeeded));
    const { active, succeeded, failed } = countsOf(podsOf(this.#parts, job));
    const now = timestamp(this.#clock.now());
    const isComplete = ended?.some(({ type }) => type === 'Complete') ?? false;
    await writeStatus(this.#parts, JOBS, job, {
      active: active.length,
      ready: active.filter(isReady).length,
      succeeded,
      failed,
      startTime: job.status?.startTime ?? now,
      ...(ended ? { conditions: ended } : {}),
      ...(isComplete ? { completionTime: now } : {}),
    });
    return undefined;
  }
}

function countsOf(pods: readonly Pod[]) {
  return {
    active: pods.filter(isActive),
    succeeded: pods.filter((pod) => pod.status?.phase === 'Succeeded').length,
    failed: pods.filter((pod) => pod.status?.phase === 'Failed').length,
  };
}
