/** Jobs of a trace. A pod of a Job starts again after an eviction, unlike a single pod. */
import type { KubeObject, ObjectMeta, PodSpec } from '#api/objects';
import { defined } from '#lib';
import { BACKOFF_LIMIT } from '#replay/trace';

/** The name of a Job is a label of its pods. */
const LONGEST_NAME = 63;
/** Length of the random end of the name of a pod. */
const SUFFIX = 5;

interface JobTask {
  readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'labels' | 'annotations'>;
  readonly spec: PodSpec;
  /** Number of pods that run at the same time, and that must succeed. */
  readonly pods: number;
}

/** Returns a Job that runs each of its pods once, and again after an eviction. */
export function jobObject({ metadata: { name, namespace, labels, annotations }, spec, pods }: JobTask): KubeObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: jobName(name), ...defined({ namespace }) },
    spec: {
      parallelism: pods,
      completions: pods,
      backoffLimit: BACKOFF_LIMIT,
      // pods that succeeded do not matter any more, and would fill the memory of a replay
      ttlSecondsAfterFinished: 0,
      template: { metadata: defined({ labels, annotations }), spec },
    },
  } as unknown as KubeObject;
}

/** Shortens the name of a pod to the maximum length of the name of a Job. */
export const jobName = (name: string): string =>
  name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME - SUFFIX)}${name.slice(-SUFFIX)}`;
