/**
 * Decides on the restart of a Deployment before the eviction of its only ready pod. The state is in the Deployment: the time of
 * the restart, and the annotation of its pod template.
 */
import {
  getCondition,
  type Pod,
  RESTARTED_AT_ANNOTATION,
  SURGE_ANNOTATION,
  SURGE_STARTED_ANNOTATION,
  type Workload,
} from '#api/objects';
import { formatDuration, readDurationOrNever } from '#api/values';
import { timeOf } from '#lib';

const DEFAULT_MS = 5 * 60_000;
const LONGEST_MS = 60 * 60_000;
/** Time for the Deployment to remove the pod. An eviction in this time would create an additional pod. */
const SETTLE_MS = 15_000;
/** Maximum lead of the clock of an earlier leader. */
const SKEW_MS = 60_000;

/** Fields of a Deployment that the decision reads. */
export type SurgeDeployment = Workload & {
  readonly spec: {
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: {
        readonly maxSurge?: number | string;
        readonly maxUnavailable?: number | string;
      };
    };
  };
};

interface SurgeInput {
  readonly pod: Pod;
  readonly deployment: SurgeDeployment;
  /** Maximum time of the wait. */
  readonly withinMs: number;
  /** Time since which another pod of the Deployment on a node that stays is ready. Undefined without a ready pod. */
  readonly readySinceMs: number | undefined;
  readonly hasExclusiveVolume: boolean;
  readonly nowMs: number;
}

/** Next step. `unsupported` and `ended` have the text of an event, and the pod is evicted. */
export type SurgeStep =
  | { readonly kind: 'evict' | 'start' }
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'unsupported'; readonly text: string }
  | { readonly kind: 'ended'; readonly outcome: 'late' | 'reverted'; readonly text: string };

/** Returns the maximum wait that a pod requests, an error in its annotation, or undefined without a request. */
export function surgeRequest({
  metadata,
}: Pod): { readonly withinMs: number } | { readonly error: string } | undefined {
  const text = metadata.annotations?.[SURGE_ANNOTATION];
  if (text === undefined || text === 'false') return undefined;
  const withinMs = surgeTime(text);
  if (withinMs !== undefined) return { withinMs };
  return { error: `the annotation ${SURGE_ANNOTATION} must be "true" or a duration of up to 1h, such as "10m"` };
}

function surgeTime(text: string): number | undefined {
  if (text === 'true') return DEFAULT_MS;
  const ms = readDurationOrNever(text);
  return ms !== undefined && ms > 0 && ms <= LONGEST_MS ? ms : undefined;
}

/** Returns true if the value of the annotation is valid. */
export const isSurgeValue = (text: string): boolean => text === 'false' || surgeTime(text) !== undefined;

export function surgeStep(input: SurgeInput): SurgeStep {
  const { pod, deployment, withinMs, readySinceMs, nowMs } = input;
  const startedMs = timeOf(deployment.metadata.annotations?.[SURGE_STARTED_ANNOTATION]);
  const isStarted = startedMs > timeOf(pod.metadata.creationTimestamp) && startedMs <= nowMs + SKEW_MS;
  if (isStarted) {
    const untilMs = startedMs + withinMs;
    if (readySinceMs !== undefined)
      return nowMs < readySinceMs + SETTLE_MS ? { kind: 'wait', untilMs } : { kind: 'evict' };
    if (nowMs >= untilMs) {
      const text = `the new pod of its Deployment was not ready within ${formatDuration(withinMs)} after the restart`;
      return { kind: 'ended', outcome: 'late', text };
    }
    const restartedMs = timeOf(deployment.spec.template.metadata?.annotations?.[RESTARTED_AT_ANNOTATION]);
    // another client, such as a GitOps controller, has restored the template
    if (!(restartedMs >= startedMs)) {
      const text = `another client removed the annotation ${RESTARTED_AT_ANNOTATION} from the template of its Deployment`;
      return { kind: 'ended', outcome: 'reverted', text };
    }
    return { kind: 'wait', untilMs };
  }
  const isReady = getCondition(pod, 'Ready')?.status === 'True';
  if (!isReady || readySinceMs !== undefined) return { kind: 'evict' };
  const text = obstacleOf(input);
  return text === undefined ? { kind: 'start' } : { kind: 'unsupported', text };
}

/** Returns the reason why a restart would not create a new pod before the old pod ends. */
function obstacleOf({ deployment, hasExclusiveVolume }: SurgeInput): string | undefined {
  const { spec, metadata } = deployment;
  if (metadata.deletionTimestamp !== undefined) return 'its Deployment is being deleted';
  if (spec.paused) return 'its Deployment is paused';
  if (spec.strategy?.type === 'Recreate') return 'the strategy of its Deployment is Recreate; use RollingUpdate';
  const { replicas = 1 } = spec;
  const { maxSurge = '25%', maxUnavailable = '25%' } = spec.strategy?.rollingUpdate ?? {};
  if (countOf(maxSurge, replicas, Math.ceil) < 1) return 'maxSurge of its Deployment allows no additional pod; use 1';
  if (replicas - countOf(maxUnavailable, replicas, Math.floor) < 1)
    return 'maxUnavailable of its Deployment allows a restart without a ready pod; use 0';
  return hasExclusiveVolume ? 'it has a volume that only one node can mount at a time' : undefined;
}

const countOf = (value: number | string, total: number, round: (amount: number) => number): number =>
  typeof value === 'number' ? value : round((Number.parseFloat(value) / 100) * total);
