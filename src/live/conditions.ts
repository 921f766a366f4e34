/** Conditions of an object, as the page shows them. */
import type { Conditioned } from '../api/conditions.ts';
import { timeOf } from '../lib/times.ts';

export interface ShownCondition {
  readonly kind: string;
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** Time of the last transition, in milliseconds since the epoch; 0 if it is unknown. */
  readonly sinceMs: number;
}

export const shownConditions = (object: Conditioned | undefined): readonly ShownCondition[] =>
  (object?.status?.conditions ?? []).map(({ type, status, reason = '', message = '', lastTransitionTime }) => ({
    kind: object?.kind ?? '',
    type,
    status,
    reason: reason === type ? '' : reason,
    message,
    sinceMs: timeOf(lastTransitionTime) || 0,
  }));
