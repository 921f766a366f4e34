/** Conditions in the status of built-in objects. */
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

export const conditionOf = (
  object: { readonly status?: { readonly conditions?: readonly Condition[] } },
  type: string,
): Condition | undefined => object.status?.conditions?.find((one) => one.type === type);

export const hasCondition = (
  object: { readonly status?: { readonly conditions?: readonly Condition[] } },
  type: string,
): boolean => conditionOf(object, type)?.status === 'True';
