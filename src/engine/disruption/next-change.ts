/** Computes when time alone changes the decisions about a cluster. */

import { NODEPOOL_LABEL } from '#api/objects';
import { parseDuration } from '#api/values';
import { type Budget, budgetsOf } from './budgets/budgets.ts';
import { nextHitMs } from './budgets/hits.ts';
import { nextTurnMs } from './budgets/windows.ts';
import { consolidatableIn } from './candidates/consolidate-after.ts';
import { annotatedPods, protectionOf } from './candidates/protection.ts';
import type { PassInput } from './pass.ts';

/**
 * Returns the first time after `nowMs` at which a decision about the cluster can change although nothing has happened.
 * At that time, a budget's window begins, or one of these ends: a nomination, the protection of a pod, or a window of
 * `consolidateAfter` or of a budget. The price of a move changes steadily, so it has no such time.
 * Returns Infinity if there is no such time. The time at which a terminating pod counts as stuck is not included, because only
 * drains depend on it.
 */
export function nextChangeMs({ nodes, nodePools }: Pick<PassInput, 'nodes' | 'nodePools'>, nowMs: number): number {
  const byName = new Map(nodePools.map((pool) => [pool.metadata.name, pool]));
  let firstMs = Number.POSITIVE_INFINITY;
  const add = (ms: number): void => {
    if (ms > nowMs && ms < firstMs) firstMs = ms;
  };
  for (const node of nodes) {
    const { nominatedUntilMs, nodeClaim, labels, pods } = node;
    add(nominatedUntilMs);
    const pool = byName.get(labels[NODEPOOL_LABEL] ?? '');
    if (nodeClaim && pool) add(nowMs + (consolidatableIn(nodeClaim, pool, nowMs) ?? 0));
    for (const pod of annotatedPods(pods)) {
      const protection = protectionOf(pod, nowMs);
      if (protection.kind === 'until') add(protection.ms);
    }
  }
  for (const pool of nodePools) for (const budget of budgetsOf(pool)) for (const ms of hitsOf(budget, nowMs)) add(ms);
  return firstMs;
}

/** Returns the start of a budget's next window, and the end of the earliest window that is still open. */
function hitsOf({ schedule, duration, outside }: Budget, nowMs: number): readonly number[] {
  try {
    if (outside !== undefined) return [nextTurnMs(outside, nowMs) ?? Number.POSITIVE_INFINITY];
    if (schedule === undefined || duration === undefined) return [];
    const lengthMs = parseDuration(duration);
    return [nextHitMs(schedule, nowMs), nextHitMs(schedule, nowMs - lengthMs) + lengthMs];
  } catch {
    return []; // reported by `budgetErrors`
  }
}
