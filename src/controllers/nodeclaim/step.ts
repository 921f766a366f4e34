/** Interface between the lifecycle controller and its steps. */
import {
  type ConditionUpdate,
  getCondition,
  NODECLAIM_CONDITIONS,
  type Node,
  type NodeClaim,
  setCondition,
} from '#api/objects';
import { type Outcome, type ReconcileContext, settled } from '#kube/reconcilers';
import { timeOf } from '#lib';

export interface LifecycleStepResult {
  /** Desired NodeClaim. The controller writes the differences after all steps have run. */
  readonly claim: NodeClaim;
  readonly outcome: Outcome;
  /** Error of the step. The controller still writes the changes, then retries the step. */
  readonly error?: unknown;
  /** True if the step deleted the NodeClaim. The controller must not process the cached version again. */
  readonly deleted?: boolean;
  /** Called after the changes are written, so that a write conflict does not count or log twice. */
  readonly written?: () => void;
}

export type LifecycleStep = (claim: NodeClaim, context: ReconcileContext) => Promise<LifecycleStepResult>;

export const done = (claim: NodeClaim): LifecycleStepResult => ({ claim, outcome: settled });

export const withCondition = (claim: NodeClaim, update: ConditionUpdate, nowMs: number): NodeClaim =>
  setCondition(claim, NODECLAIM_CONDITIONS, update, nowMs);

/** Updates the observed generation of the condition if the step has finished. Returns undefined if the step has not finished. */
export function refreshCondition(claim: NodeClaim, type: string, nowMs: number): NodeClaim | undefined {
  const condition = getCondition(claim, type);
  if (condition === undefined || condition.status === 'Unknown') return undefined;
  return withCondition(claim, condition, nowMs);
}

/**
 * Returns true if the Node was created after the condition of its NodeClaim had become True. In this case, the first Node was
 * removed, and the kubelet has registered again.
 */
export function isRegisteredAgain(node: Node, claim: NodeClaim, type: string): boolean {
  const condition = getCondition(claim, type);
  return condition?.status === 'True' && timeOf(node.metadata.creationTimestamp) > timeOf(condition.lastTransitionTime);
}

const MESSAGE_LIMIT = 300;

/** Shortens a message for conditions and events, because errors of the cloud can be long. */
export const shortenMessage = (text: string): string =>
  text.length > MESSAGE_LIMIT ? `${text.slice(0, MESSAGE_LIMIT)}...` : text;
