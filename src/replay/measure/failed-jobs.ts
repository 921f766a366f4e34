/** Jobs that fail during a replay, and their pods that never succeed. */
import { isTrue } from '#api/objects';
import type { Job } from '#local/cluster';
import type { FailedJobs } from '../result.ts';

const hasFailed = (job: Job | undefined): boolean => job !== undefined && isTrue(job, 'Failed');

export class FailedJobsMeter {
  #jobs = 0;
  #pods = 0;

  /** Records a new state of a Job. */
  changed(now: Job | undefined, before: Job | undefined): void {
    if (now === undefined || !hasFailed(now) || hasFailed(before)) return;
    const { completions = 1 } = now.spec;
    this.#jobs += 1;
    this.#pods += Math.max(0, completions - (now.status?.succeeded ?? 0));
  }

  get total(): FailedJobs {
    return { jobs: this.#jobs, pods: this.#pods };
  }
}
