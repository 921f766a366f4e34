/** Writes the results of a provisioning run to the capacity buffers. */

import type { CapacityBuffer } from '../../api/capacity-buffer.ts';
import { type ConditionUpdate, conditionMessage, getCondition } from '../../api/conditions.ts';
import { CAPACITY_BUFFER } from '../../api/kinds.ts';
import type { Condition, Pod } from '../../api/kubernetes.ts';
import {
  type BufferOutcome,
  bufferKey,
  bufferOutcomes,
  isActive,
  provisioningCondition,
} from '../../engine/capacity-buffers.ts';
import type { Plan } from '../../engine/model.ts';
import { unlessGone, writeChanges } from '../../kube/patch.ts';
import { withBoundedConcurrency } from '../../lib/bounded-concurrency.ts';
import { timestamp } from '../../lib/times.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import { retryWrites } from '../retry.ts';

const AT_ONCE = 10;

/**
 * Sets the conditions of buffers, and the number of virtual pods on each node. This number keeps consolidation from
 * removing the nodes as empty. Logs failures, because the next run writes again.
 */
export async function recordBuffers(
  deps: Pick<Deps, 'client' | 'clock' | 'cluster' | 'informers' | 'random'>,
  plan: Plan | undefined,
  virtual: readonly Pod[],
  log: Logger,
): Promise<void> {
  const { client, clock, cluster, informers } = deps;
  const { byBuffer, byNode } = bufferOutcomes(plan, virtual);
  // without a plan, the virtual pods are assumed to stay on the same nodes
  if (plan !== undefined || virtual.length === 0) cluster.setBufferPods(byNode);

  const withOutcome = (buffer: CapacityBuffer, outcome: BufferOutcome | undefined): CapacityBuffer => {
    const update = provisioningCondition(buffer, outcome);
    return update === undefined ? buffer : withCondition(buffer, update, clock.now());
  };
  const writeOutcome = async (cached: CapacityBuffer): Promise<void> => {
    const outcome = byBuffer.get(bufferKey(cached));
    if (isSame(cached, withOutcome(cached, outcome))) return;
    const write = async (): Promise<void> => {
      const before = await client.get(CAPACITY_BUFFER, cached.metadata);
      await writeChanges(
        client,
        CAPACITY_BUFFER,
        { before, after: withOutcome(before, outcome) },
        { part: 'status', lock: true },
      );
    };
    await unlessGone(retryWrites(deps, write));
  };

  try {
    await withBoundedConcurrency(informers.store(CAPACITY_BUFFER).list().filter(isActive), AT_ONCE, writeOutcome);
  } catch (error) {
    log.error('failed updating capacity buffers', { error });
  }
}

const isSame = (a: CapacityBuffer, b: CapacityBuffer): boolean => JSON.stringify(a.status) === JSON.stringify(b.status);

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
