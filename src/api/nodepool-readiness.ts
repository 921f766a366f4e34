/** Computes the conditions of a NodePool from its spec and its NodeClass. */
import {
  type Conditioned,
  type ConditionUpdate,
  causesOf,
  getCondition,
  NODEPOOL_CONDITIONS,
  READY,
  setCondition,
} from './conditions.ts';
import type { NodePool } from './nodepool.ts';
import { nodePoolErrors } from './nodepool-validation.ts';

export const VALIDATION_SUCCEEDED = 'ValidationSucceeded';
export const NODE_CLASS_READY = 'NodeClassReady';

/** Sets the condition ValidationSucceeded. */
export const withValidation = (pool: NodePool, nowMs: number): NodePool =>
  setCondition(pool, NODEPOOL_CONDITIONS, validationOf(pool), nowMs);

function validationOf(pool: NodePool): ConditionUpdate {
  const errors = nodePoolErrors(pool);
  if (errors.length === 0) return { type: VALIDATION_SUCCEEDED, status: 'True' };
  const message = errors.join('; ');
  return { type: VALIDATION_SUCCEEDED, status: 'False', reason: 'NodePoolValidationFailed', message };
}

/** Sets the condition NodeClassReady. `nodeClass` is undefined if it does not exist. */
export const withNodeClassReadiness = (pool: NodePool, nodeClass: Conditioned | undefined, nowMs: number): NodePool =>
  setCondition(pool, NODEPOOL_CONDITIONS, nodeClassReadiness(nodeClass), nowMs);

function nodeClassReadiness(nodeClass: Conditioned | undefined): ConditionUpdate {
  const not = (reason: string, message: string): ConditionUpdate => ({
    type: NODE_CLASS_READY,
    status: 'False',
    reason,
    message,
  });
  if (nodeClass === undefined) return not('NodeClassNotFound', 'NodeClass not found on cluster');
  if (nodeClass.metadata.deletionTimestamp) return not('NodeClassTerminating', 'NodeClass is Terminating');
  const ready = getCondition(nodeClass, READY);
  if (ready === undefined || ready.status === 'Unknown') {
    return not('NodeClassReadinessUnknown', 'Node Class Readiness Unknown');
  }
  return ready.status === 'True'
    ? { type: NODE_CLASS_READY, status: 'True' }
    : not(ready.reason ?? 'NodeClassNotReady', ready.message ?? '');
}

/** Returns why a NodePool is not Ready. If its NodeClass is the cause, returns the messages of the NodeClass. */
export function unreadyText(pool: NodePool, nodeClass: Conditioned | undefined): string {
  const validation = getCondition(pool, VALIDATION_SUCCEEDED);
  if (validation?.status === 'False' && validation.message) return validation.message;
  const condition = getCondition(pool, NODE_CLASS_READY);
  const { kind, name } = pool.spec.template.spec.nodeClassRef;
  if (condition?.status === 'False') {
    const isThere = nodeClass !== undefined && !nodeClass.metadata.deletionTimestamp;
    const causes = isThere ? causesOf(nodeClass).map(({ message }) => message) : [];
    return `${kind} ${name}: ${causes.length > 0 ? causes.join('; ') : (condition.message ?? '')}`;
  }
  return getCondition(pool, READY)?.message || 'its conditions are still to be computed';
}
