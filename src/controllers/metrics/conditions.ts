/** Computes the transitions of an object's conditions. Has no side effects. */
import type { Condition } from '../../api/kubernetes.ts';
import { timeOf } from '../../lib/times.ts';

export interface Transition {
  readonly condition: Condition;
  /** Earlier condition. Undefined if the object did not have a condition of this type. */
  readonly from: Condition | undefined;
}

/** Returns the conditions with a changed status or a new type. A new reason or message alone is not a transition. */
export function transitions(before: readonly Condition[], now: readonly Condition[]): readonly Transition[] {
  return now.flatMap((condition): readonly Transition[] => {
    const from = before.find(({ type }) => type === condition.type);
    return from?.status === condition.status ? [] : [{ condition, from }];
  });
}

/** Returns the text of a transition's event. */
export function transitionText({ condition, from }: Transition): string {
  const text =
    `Status condition transitioned, Type: ${condition.type}, Status: ${from?.status} -> ${condition.status}, ` +
    `Reason: ${condition.reason ?? ''}`;
  return condition.message ? `${text}, Message: ${condition.message}` : text;
}

/** Returns the duration of the earlier status in seconds, or undefined if a time is missing. */
export function lastedSeconds({ condition, from }: Transition): number | undefined {
  const ms = timeOf(condition.lastTransitionTime) - timeOf(from?.lastTransitionTime);
  return Number.isNaN(ms) ? undefined : Math.max(0, ms) / 1_000;
}
