/**
 * Writes conditions of built-in objects. Those of api/conditions.ts do not fit them: there Ready sums up other conditions,
 * every condition has an observed generation, and what has not changed is told by the object staying the same.
 */
import type { Condition } from '../api/kubernetes.ts';

type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/** Sets conditions by type; a condition that keeps its status keeps its transition time. */
export function withConditions(
  present: readonly Condition[] | undefined,
  changes: readonly NewCondition[],
  now: string,
): readonly Condition[] {
  const all = new Map((present ?? []).map((one) => [one.type, one]));
  for (const change of changes) {
    const before = all.get(change.type);
    const lastTransitionTime = before?.status === change.status ? (before.lastTransitionTime ?? now) : now;
    all.set(change.type, { ...change, lastTransitionTime });
  }
  return [...all.values()];
}
