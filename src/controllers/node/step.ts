/** The contract between the node termination controller and its steps. */
import { type ConditionUpdate, NODECLAIM_CONDITIONS, setCondition } from '../../api/conditions.ts';
import type { Node } from '../../api/kubernetes.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';

export interface Leaving {
  readonly node: Node;
  /** Undefined for nodes that no claim, or more than one, belongs to. */
  readonly claim: NodeClaim | undefined;
  /** When the node has to be gone; Infinity without a terminationGracePeriod. */
  readonly deadlineMs: number;
}

export interface TerminationProgress {
  /** The claim with the conditions that the step set; written once all steps have run. */
  readonly claim: NodeClaim | undefined;
  /** Milliseconds until the step is tried again; undefined when it is finished and the next one may begin. */
  readonly waitMs?: number;
}

export type TerminationStep = (leaving: Leaving) => Promise<TerminationProgress> | TerminationProgress;

export const conditioned = (
  claim: NodeClaim | undefined,
  update: ConditionUpdate,
  nowMs: number,
): NodeClaim | undefined => claim && setCondition(claim, NODECLAIM_CONDITIONS, update, nowMs);
