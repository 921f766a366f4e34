/**
 * Conditions of built-in objects. In contrast, conditions in api/conditions.ts have a summary in Ready and an observed
 * generation, and an unchanged object keeps its identity.
 */
import type { Condition } from '#api/objects';

type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/** Sets conditions by type. A condition with an unchanged status keeps its transition time. */
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
