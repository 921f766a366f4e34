/** The form of a plan, which is public. */

export const SOURCES = ['cluster-autoscaler', 'managed-node-groups', 'karpenter-alpha', 'karpenter'] as const;
export type Source = (typeof SOURCES)[number];

export interface MigrationStep {
  readonly title: string;
  /** Sentences: what it does, and what to know before. */
  readonly text: readonly string[];
  /** What would go wrong, and cannot be taken back. */
  readonly warnings?: readonly string[];
  /** To type, in order. */
  readonly commands: readonly string[];
  /** Commands that only look, and what they have to show. */
  readonly check: readonly string[];
  /** How to undo it; absent where nothing has to be. */
  readonly back?: readonly string[];
}

export interface MigrationPlan {
  readonly from: Source;
  /** Why that, when nobody has said it; null when it was said. */
  readonly guessed: string | null;
  readonly cluster: string;
  /** What the plan has left open, for the reader to fill in. */
  readonly open: readonly string[];
  readonly steps: readonly MigrationStep[];
}
