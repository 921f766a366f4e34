/** Jobs: pods until enough of them have succeeded or too many have failed. */
import { isTrue, timestamp } from '../../../../api/conditions.ts';
import { POD } from '../../../../api/kinds.ts';
import type { Condition, Pod } from '../../../../api/kubernetes.ts';
import { keyOf, refOf } from '../../../../kube/store.ts';
import { isGone } from '../../../client.ts';
import { withConditions } from '../../../conditions.ts';
import { eventReporter, type Parts } from '../../../parts.ts';
import { startLoop } from '../loop.ts';
import { JOBS, type Job } from './kinds.ts';
import { createPod, deletePod, isActive, isReady, podOf } from './pods.ts';
import { followPods, podsOf } from './replicaset.ts';
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
  const { client, caches, clock } = parts;
  const jobs = caches.of(JOBS);
  const report = eventReporter('job-controller', parts);

  const countsOf = (pods: readonly Pod[]) => ({
    active: pods.filter(isActive),
    succeeded: pods.filter((pod) => pod.status?.phase === 'Succeeded').length,
    failed: pods.filter((pod) => pod.status?.phase === 'Failed').length,
  });

  const adjust = async (job: Job, active: readonly Pod[], wished: number): Promise<void> => {
    const missing = wished - active.length;
    const names = { 'batch.kubernetes.io/job-name': job.metadata.name, 'job-name': job.metadata.name };
    const pod = podOf(job.spec.template, job);
    const labelled = { ...pod, metadata: { ...pod.metadata, labels: { ...names, ...pod.metadata.labels } } };
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => createPod(parts, labelled)));
    if (missing > 0) report(job, 'Normal', 'SuccessfulCreate', `Created ${missing} pod${missing === 1 ? '' : 's'}`);
    await Promise.all(active.slice(0, Math.max(0, -missing)).map((extra) => deletePod(parts, extra)));
  };

  const outcome = (job: Job, succeeded: number, failed: number, active: number): readonly Condition[] | undefined => {
    const now = timestamp(clock.now());
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
  };

  /** Deletes a finished job when its time to live is over. */
  const expire = async (job: Job): Promise<number | undefined> => {
    const ttlSeconds = job.spec.ttlSecondsAfterFinished;
    if (ttlSeconds === undefined) return undefined;
    const since = Date.parse(job.status?.completionTime ?? job.metadata.creationTimestamp ?? '');
    const waitMs = since + 1000 * ttlSeconds - clock.now();
    if (waitMs > 0) return waitMs;
    try {
      await client.delete(JOBS, job.metadata, { uid: job.metadata.uid });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    return undefined;
  };

  const loop = startLoop({
    ...parts,
    name: 'job',
    async reconcile(key) {
      const job = jobs.get(refOf(key));
      if (!job || job.metadata.deletionTimestamp) return undefined;
      if (isFinished(job)) return expire(job);
      const before = countsOf(podsOf(parts, job));
      const ended = outcome(job, before.succeeded, before.failed, before.active.length);
      await adjust(job, before.active, ended ? 0 : activeWished(job, before.succeeded));
      const { active, succeeded, failed } = countsOf(podsOf(parts, job));
      const now = timestamp(clock.now());
      const isComplete = ended?.some(({ type }) => type === 'Complete') ?? false;
      await writeStatus(parts, JOBS, job, {
        active: active.length,
        ready: active.filter(isReady).length,
        succeeded,
        failed,
        startTime: job.status?.startTime ?? now,
        ...(ended ? { conditions: ended } : {}),
        ...(isComplete ? { completionTime: now } : {}),
      });
      return undefined;
    },
  });
  jobs.subscribe((now) => now && loop.add(keyOf(now.metadata)));
  await Promise.all([jobs.synced, caches.of(POD).synced]);
  followPods(parts, 'Job', (key) => loop.add(key));
}
