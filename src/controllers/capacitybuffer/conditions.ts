/**
 * Conditions of capacity buffers. Unlike other kinds, capacity buffers have no condition that summarizes the other conditions.
 */
import type { CapacityBuffer } from '../../api/capacity-buffer.ts';
import { type ConditionUpdate, conditionMessage, getCondition } from '../../api/conditions.ts';
import type { Condition } from '../../api/kubernetes.ts';
import { timestamp } from '../../lib/times.ts';

/** Sets a condition. The transition time changes only if the status changes. */
export function withCondition(buffer: CapacityBuffer, update: ConditionUpdate, nowMs: number): CapacityBuffer {
  const { type, status, reason = type, message = '' } = update;
  const before = getCondition(buffer, type);
  const isSame = before?.status === status && before.lastTransitionTime !== undefined;
  const condition: Condition = {
    type,
    status,
    reason,
    message: conditionMessage(message),
    lastTransitionTime: isSame ? before.lastTransitionTime : timestamp(nowMs),
    observedGeneration: buffer.metadata.generation ?? 0,
  };
  const others = (buffer.status?.conditions ?? []).filter((other) => other.type !== type);
  const conditions = [...others, condition].sort((a, b) => (a.type < b.type ? -1 : 1));
  return { ...buffer, status: { ...buffer.status, conditions } };
}
