/** Pods that StatefulSets have not created yet. */

import { getCondition, type Pod, READY, uidOf, type Workload } from '#api/objects';
import { MOST_COMING } from '#engine/model';
import { timeOf } from '#lib';
import type { Stores } from '#state';

const MINUTE_MS = 60_000;
/** The controller creates the next pod within seconds after the last one is ready, unless for example a quota refuses it. */
const LONGEST_PAUSE_MS = MINUTE_MS;
/** Maximum start-up time of a pod, as in the forecasts of consolidation. Otherwise, a pod that fails would keep a large node. */
const LONGEST_START_MS = 10 * MINUTE_MS;

/** Returns the number of pods that each StatefulSet is about to create, by UID of the StatefulSet. */
export function comingReplicas(
  { pods, statefulSets }: Pick<Stores, 'pods' | 'statefulSets'>,
  nowMs: number,
): ReadonlyMap<string, number> {
  return new Map(
    statefulSets.list().flatMap((set) => {
      const { missing, last } = progressOf(set, pods);
      return missing > 0 && last !== undefined && isStarting(last, nowMs) ? [[uidOf(set), missing] as const] : [];
    }),
  );
}

interface Progress {
  /** Number of pods that are missing at the end, up to the number that a solve considers. */
  readonly missing: number;
  /** The pod before them. */
  readonly last: Pod | undefined;
}

function progressOf({ metadata, spec, status }: Workload, pods: Stores['pods']): Progress {
  const podOf = (ordinal: number): Pod | undefined =>
    pods.get({ namespace: metadata.namespace, name: `${metadata.name}-${ordinal}` });
  const { replicas = 1, ordinals } = spec ?? {};
  const first = ordinals?.start ?? 0;
  // the controller creates pods in ascending order, so all pods below an existing pod exist
  for (let missing = 0; missing < Math.min(replicas, MOST_COMING); missing++) {
    const last = podOf(first + replicas - 1 - missing);
    if (last !== undefined) return { missing, last };
  }
  const created = Math.max(1, status?.replicas ?? 1);
  return { missing: MOST_COMING, last: replicas > MOST_COMING ? podOf(first + created - 1) : undefined };
}

/** Returns true if the next pod is due: the last one is starting, or has just become ready. */
function isStarting(last: Pod, nowMs: number): boolean {
  const ready = getCondition(last, READY);
  return ready?.status === 'True'
    ? nowMs - timeOf(ready.lastTransitionTime) < LONGEST_PAUSE_MS
    : nowMs - (timeOf(last.metadata.creationTimestamp) || nowMs) < LONGEST_START_MS;
}
