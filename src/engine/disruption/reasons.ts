/** Reasons for disruption, classes of methods, and reasons why nodes are not disrupted. */
export type DisruptionReason = 'Underutilized' | 'Empty' | 'Drifted';

/** Reason why a node is not a candidate for any method of a class. Codes are public. */
export type BlockCode =
  | 'in-progress'
  | 'unmanaged'
  | 'no-node'
  | 'not-initialized'
  | 'deleting'
  | 'nominated'
  | 'do-not-disrupt'
  | 'no-pool-label'
  | 'no-pool'
  | 'pod-do-not-disrupt'
  | 'pdb'
  | 'several-pdbs'
  | 'gang'
  | 'unreadable';

/** Reason why a method declines a candidate. Codes are public. */
export type DeclineCode =
  // because of the node itself and its NodePool
  | 'static-pool'
  | 'dynamic-pool'
  | 'consolidation-disabled'
  | 'buffer-pods'
  | 'not-empty'
  | 'empty'
  | 'only-when-empty'
  | 'not-consolidatable'
  | 'not-drifted'
  | 'unknown-instance-type'
  | 'no-capacity-type'
  | 'no-zone'
  // reasons in the expected result of the disruption
  | 'gang'
  | 'budget'
  | 'rollout'
  | 'limits'
  | 'pods-stranded'
  | 'several-replacements'
  | 'min-values'
  | 'not-cheaper'
  | 'spot-to-spot-disabled'
  | 'spot-to-spot-flexibility'
  | 'spot-risk'
  | 'preferences'
  | 'unbalanced'
  | 'not-worth-moving'
  | 'changed'
  | 'paused'
  | 'observed'
  | 'failed';

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
