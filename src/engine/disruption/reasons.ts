/** Why nodes are disrupted, how hard the method may push, and why nodes are left alone. */
export type DisruptionReason = 'Underutilized' | 'Empty' | 'Drifted';

/**
 * `graceful` methods leave nodes alone whose pods may not be moved; `eventual` ones may take them when the claim's
 * `terminationGracePeriod` will clear them in the end.
 */
export type DisruptionClass = 'graceful' | 'eventual';

/** Why a node is no candidate of any method of a class. Codes are public. */
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
  | 'unreadable';

/** Why a method leaves a candidate alone. Codes are public. */
export type DeclineCode =
  // by what the node and its NodePool are
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
  // by what would come of it
  | 'budget'
  | 'pods-stranded'
  | 'several-replacements'
  | 'min-values'
  | 'not-cheaper'
  | 'spot-to-spot-disabled'
  | 'spot-to-spot-flexibility'
  | 'spot-risk'
  | 'unbalanced'
  | 'churn'
  | 'changed'
  | 'failed';

/** An object of the cluster that stands in the way. */
export interface ObjectName {
  readonly kind: 'Node' | 'NodeClaim' | 'NodePool' | 'Pod' | 'PodDisruptionBudget';
  readonly namespace?: string;
  readonly name: string;
}

export interface Reason<Code extends string = BlockCode | DeclineCode> {
  readonly code: Code;
  /** In the words of the event, where there is one. */
  readonly text: string;
  readonly object?: ObjectName;
  /** How near it came: what is missing, or from when on it will do. */
  readonly nearestMiss?: string;
}
