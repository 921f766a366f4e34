/** The contract between the lifecycle controller and its steps. */
import { type ConditionUpdate, getCondition, NODECLAIM_CONDITIONS, setCondition } from '../../api/conditions.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { type Outcome, type ReconcileContext, settled } from '../../kube/reconciler.ts';

export interface LifecycleStepResult {
  /** The claim as it should be; what differs is written once all steps have run. */
  readonly claim: NodeClaim;
  readonly outcome: Outcome;
  /** What went wrong; the changes are written all the same, then the step is tried again. */
  readonly error?: unknown;
  /** The claim was deleted by the step: its cached version is not to be acted on again. */
  readonly deleted?: boolean;
  /** Told once the changes are written, so that a write conflict counts and logs nothing twice. */
  readonly written?: () => void;
}

export type LifecycleStep = (claim: NodeClaim, context: ReconcileContext) => Promise<LifecycleStepResult>;

export const done = (claim: NodeClaim): LifecycleStepResult => ({ claim, outcome: settled });

export const withCondition = (claim: NodeClaim, update: ConditionUpdate, nowMs: number): NodeClaim =>
  setCondition(claim, NODECLAIM_CONDITIONS, update, nowMs);

/** A step that has ended only has its observed generation brought up to date; undefined while it has not. */
export function refreshed(claim: NodeClaim, type: string, nowMs: number): NodeClaim | undefined {
  const condition = getCondition(claim, type);
  if (condition === undefined || condition.status === 'Unknown') return undefined;
  return withCondition(claim, condition, nowMs);
}

const MESSAGE_LIMIT = 300;

/** Errors of the cloud can be long; conditions and events show their beginning. */
export const shortened = (text: string): string =>
  text.length > MESSAGE_LIMIT ? `${text.slice(0, MESSAGE_LIMIT)}...` : text;
