/** Interface between the node termination controller and its steps. */
import { type ConditionUpdate, NODECLAIM_CONDITIONS, type Node, type NodeClaim, setCondition } from '#api/objects';

export interface Leaving {
  readonly node: Node;
  /** Undefined for nodes that do not have exactly one NodeClaim. */
  readonly claim: NodeClaim | undefined;
  /** Deadline for the deletion of the node. Infinity without a terminationGracePeriod. */
  readonly deadlineMs: number;
}

export interface TerminationProgress {
  /** NodeClaim with the conditions that the step set. The controller writes it after all steps have run. */
  readonly claim: NodeClaim | undefined;
  /** Milliseconds until the step must run again. Undefined if the step is finished and the next step may start. */
  readonly waitMs?: number;
}

export type TerminationStep = (leaving: Leaving) => Promise<TerminationProgress> | TerminationProgress;

export const withCondition = (
  claim: NodeClaim | undefined,
  update: ConditionUpdate,
  nowMs: number,
): NodeClaim | undefined => claim && setCondition(claim, NODECLAIM_CONDITIONS, update, nowMs);
