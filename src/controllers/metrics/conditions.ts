/** What can be said about a change of an object's conditions. Pure. */
import type { Condition } from '../../api/kubernetes.ts';
import { timeOf } from '../../lib/times.ts';

export interface Transition {
  readonly condition: Condition;
  /** The condition before; undefined when its type was not seen on this object before. */
  readonly from: Condition | undefined;
}

/** Conditions whose status changed, or whose type is new. A new reason or message alone is no transition. */
export function transitions(before: readonly Condition[], now: readonly Condition[]): readonly Transition[] {
  return now.flatMap((condition): readonly Transition[] => {
    const from = before.find(({ type }) => type === condition.type);
    return from?.status === condition.status ? [] : [{ condition, from }];
  });
}

/** The text of a transition's event. */
export function transitionText({ condition, from }: Transition): string {
  const text =
    `Status condition transitioned, Type: ${condition.type}, Status: ${from?.status} -> ${condition.status}, ` +
    `Reason: ${condition.reason ?? ''}`;
  return condition.message ? `${text}, Message: ${condition.message}` : text;
}

/** Seconds that the earlier status lasted; undefined when a time is missing. */
export function lastedSeconds({ condition, from }: Transition): number | undefined {
  const ms = timeOf(condition.lastTransitionTime) - timeOf(from?.lastTransitionTime);
  return Number.isNaN(ms) ? undefined : Math.max(0, ms) / 1_000;
}
