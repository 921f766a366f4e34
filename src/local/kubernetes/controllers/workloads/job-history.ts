/** Ended pods of a Job, each counted once even if it is deleted, and the back-off after failures. */
import { getCondition, isTrue, type Pod } from '#api/objects';
import { isOver } from '../../scheduler/cluster.ts';
import type { Job } from './kinds.ts';
import { restartsOf } from './pods.ts';

const FIRST_BACKOFF_MS = 10_000;
const LONGEST_BACKOFF_MS = 600_000;

/** Reports whether pods are replaced only after they have terminated, instead of after their deletion starts. */
export const replacesEndedOnly = ({ spec }: Job): boolean =>
  spec.podReplacementPolicy === 'Failed' || spec.podFailurePolicy !== undefined;

/** Reports whether the Job's pod failure policy ignores the failure. The first matching rule decides. */
function isIgnored({ spec }: Job, pod: Pod): boolean {
  const rule = spec.podFailurePolicy?.rules.find(({ onPodConditions = [] }) =>
    onPodConditions.some(({ type, status = 'True' }) => getCondition(pod, type)?.status === status),
  );
  return rule?.action === 'Ignore';
}

function endMsOf(pod: Pod): number {
  const { creationTimestamp = '', deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
  const ready = getCondition(pod, 'Ready');
  if (ready?.status === 'False' && ready.lastTransitionTime) return Date.parse(ready.lastTransitionTime);
  if (deletionTimestamp) return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return Date.parse(creationTimestamp);
}

const hasSucceeded = (pod: Pod): boolean => pod.status?.phase === 'Succeeded';

export class JobHistory {
  readonly #counted = new Set<string>();
  #removed: Pod[] = [];
  #succeeded: number;
  #failed: number;
  /** Failures since the last success. */
  #inARow = 0;
  #lastFailureAt = 0;

  /** @param pods current pods of the Job. If the Job has a status, it already counts the terminated pods. */
  constructor({ status }: Job, pods: readonly Pod[]) {
    this.#succeeded = status?.succeeded ?? 0;
    this.#failed = status?.failed ?? 0;
    if (status?.startTime !== undefined) for (const pod of pods) if (isOver(pod)) this.#isNew(pod);
  }

  get succeeded(): number {
    return this.#succeeded;
  }

  get failed(): number {
    return this.#failed;
  }

  /** Records a pod that was removed from the API server. */
  removed(pod: Pod): void {
    this.#removed.push(pod);
  }

  /** Counts terminated pods. A deleted pod counts as failed, unless it had succeeded. */
  count(job: Job, pods: readonly Pod[]): void {
    const isEnded = (pod: Pod): boolean =>
      isOver(pod) || (pod.metadata.deletionTimestamp !== undefined && !replacesEndedOnly(job));
    const ended = [...pods.filter(isEnded), ...this.#removed].filter((pod) => this.#isNew(pod));
    this.#removed = [];
    const [succeeded, failed] = [ended.filter(hasSucceeded), ended.filter((pod) => !hasSucceeded(pod))];
    this.#succeeded += succeeded.length;
    this.#failed += failed.filter((pod) => !isIgnored(job, pod)).length;
    const lastSuccessAt = Math.max(0, ...succeeded.map(endMsOf));
    if (succeeded.length > 0) this.#inARow = 0;
    for (const at of failed.map(endMsOf)) {
      if (at <= lastSuccessAt) continue;
      this.#inARow += 1;
      this.#lastFailureAt = Math.max(this.#lastFailureAt, at);
    }
  }

  /** Time until another pod may be created. */
  backoffMs(now: number): number {
    if (this.#inARow === 0) return 0;
    const backoff = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (this.#inARow - 1));
    return Math.max(0, this.#lastFailureAt + backoff - now);
  }

  #isNew({ metadata: { uid = '' } }: Pod): boolean {
    if (this.#counted.has(uid)) return false;
    this.#counted.add(uid);
    return true;
  }
}

/** Reports whether containers have restarted as often as the Job's back-off limit allows. */
export const hasRestartedTooOften = ({ spec }: Job, active: readonly Pod[]): boolean => {
  if (spec.template.spec.restartPolicy !== 'OnFailure') return false;
  const restarts = active
    .flatMap(({ status }) => [...restartsOf(status?.initContainerStatuses), ...restartsOf(status?.containerStatuses)])
    .reduce((sum, count) => sum + count, 0);
  return restarts > 0 && restarts >= (spec.backoffLimit ?? 6);
};

export const isFinished = (job: Job): boolean => isTrue(job, 'Complete') || isTrue(job, 'Failed');
