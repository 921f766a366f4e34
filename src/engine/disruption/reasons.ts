/** Reasons for disruption, classes of methods, and reasons why nodes are not disrupted. */
import type { NODE_BLOCKS, NODE_DECLINES } from '../reason-codes.ts';

export type DisruptionReason = 'Underutilized' | 'Empty' | 'Drifted';

/** Reason why a node is not a candidate for any method of a class. */
export type BlockCode = (typeof NODE_BLOCKS)[number];

/** Reason why a method declines a candidate. */
export type DeclineCode = (typeof NODE_DECLINES)[number];

/** Object of the cluster that blocks the disruption. */
export interface ObjectName {
  readonly kind: 'Node' | 'NodeClaim' | 'NodePool' | 'Pod' | 'PodDisruptionBudget';
  readonly namespace?: string;
  readonly name: string;
}

export interface Reason<Code extends string = BlockCode | DeclineCode> {
  readonly code: Code;
  /** Text of this reason, the same as in the event if there is one. */
  readonly text: string;
  readonly object?: ObjectName;
  /** Distance from success: the missing condition, or the time from which the disruption will be possible. */
  readonly nearestMiss?: string;
}
