/**
 * Condition `WithinLimits` of a NodePool. It is False while the limits stop the launch of a node for a pending pod. The NodePool
 * stays Ready.
 */
import { getCondition, isTrue, NODEPOOL_CONDITIONS, setCondition } from '../../api/conditions.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { limitsCause } from '../../engine/causes/pool-cause.ts';
import type { Resources } from '../../engine/model.ts';

const TYPE = 'WithinLimits';

interface LimitState {
  /** Usage and limits if they stop the launch of a node for a pending pod, otherwise undefined. */
  readonly exceeded: string | undefined;
  readonly nowMs: number;
}

/** Returns the usage and the limits of a NodePool, and the field to change. */
export function limitText(pool: NodePool, usage: Resources): string {
  const { offered, remedy } = limitsCause(pool, { resources: usage, isPlanned: false }, []);
  return `${offered}; no node is launched for pending pods. ${remedy}`;
}

/** Returns the NodePool with the condition. A NodePool whose limits never stopped a launch does not get it. */
export function withLimitCondition(pool: NodePool, { exceeded, nowMs }: LimitState): NodePool {
  if (exceeded === undefined && (getCondition(pool, TYPE) === undefined || isTrue(pool, TYPE))) return pool;
  const update =
    exceeded === undefined
      ? ({ type: TYPE, status: 'True' } as const)
      : ({ type: TYPE, status: 'False', reason: 'LimitReached', message: exceeded } as const);
  return setCondition(pool, NODEPOOL_CONDITIONS, update, nowMs);
}
