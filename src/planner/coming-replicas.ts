/** Pods that StatefulSets have not created yet. */

import type { Pod, Workload } from '../api/kubernetes.ts';
import { controllerOf, uidOf } from '../api/object-fields.ts';
import { MOST_COMING } from '../engine/coming-pods.ts';
import { isScheduled } from '../engine/pods.ts';
import type { Stores } from '../state/stores.ts';

/**
 * Returns the number of pods that will follow a pending pod of a StatefulSet, by UID of the pod. If several pods of a StatefulSet
 * wait, they follow the first of them.
 */
export function comingReplicas(
  { pods, statefulSets }: Pick<Stores, 'pods' | 'statefulSets'>,
  pendingPods: readonly Pod[],
): ReadonlyMap<string, number> {
  const seen = new Set<string>();
  return new Map(
    pendingPods.flatMap((pod) => {
      const owner = controllerOf(pod);
      if (owner?.kind !== 'StatefulSet' || isScheduled(pod) || seen.has(owner.uid)) return [];
      seen.add(owner.uid);
      const set = statefulSets.get({ namespace: pod.metadata.namespace, name: owner.name });
      const count = set === undefined || uidOf(set) !== owner.uid ? 0 : missingPods(set, pods);
      return count > 0 ? [[uidOf(pod), count] as const] : [];
    }),
  );
}

/** Counts up to the number that a solve considers. */
function missingPods({ metadata, spec }: Workload, pods: Stores['pods']): number {
  const { replicas = 1, ordinals } = spec ?? {};
  const first = ordinals?.start ?? 0;
  let missing = 0;
  for (let ordinal = first + replicas - 1; ordinal >= first && missing < MOST_COMING; ordinal--) {
    // the controller creates pods in ascending order, so all pods below this one exist
    if (pods.get({ namespace: metadata.namespace, name: `${metadata.name}-${ordinal}` }) !== undefined) break;
    missing += 1;
  }
  return missing;
}
