/** Pending pods, grouped by the change that they wait for. */
import type { PendingGroup, PendingPod } from './model.ts';

const podAndWait = ({ pod, sinceMs }: PendingPod): Pick<PendingPod, 'pod' | 'sinceMs'> => ({ pod, sinceMs });

const byWait = (a: PendingPod, b: PendingPod): number => a.sinceMs - b.sinceMs || (a.pod < b.pod ? -1 : 1);

/**
 * Returns the groups, longest wait first.
 * @param most maximum number of pods with a name in a group
 */
export function pendingGroups(
  pods: readonly PendingPod[],
  most: number = Number.POSITIVE_INFINITY,
): readonly PendingGroup[] {
  const alike = Map.groupBy(pods.toSorted(byWait), ({ cause, reason = '' }) => cause ?? reason);
  return [...alike.values()].flatMap(([first, ...others]) =>
    first === undefined
      ? []
      : [{ ...first, pods: others.length + 1, others: others.slice(0, most - 1).map(podAndWait) }],
  );
}
