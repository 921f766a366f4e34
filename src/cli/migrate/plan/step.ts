/** Public format of a plan. */

export const SOURCES = ['cluster-autoscaler', 'managed-node-groups', 'karpenter-alpha', 'karpenter'] as const;
export type Source = (typeof SOURCES)[number];

export interface MigrationStep {
  readonly title: string;
  /** Sentences that describe this step and its prerequisites. */
  readonly text: readonly string[];
  /** Risks that cannot be undone. */
  readonly warnings?: readonly string[];
  /** Commands in order. */
  readonly commands: readonly string[];
  /** Read-only commands, with their expected output. */
  readonly check: readonly string[];
  /** Instructions for undoing this step. Undefined if it needs none. */
  readonly back?: readonly string[];
}

export interface MigrationPlan {
  readonly from: Source;
  /** Reason for a guessed path, or null if the user specified the path. */
  readonly guessed: string | null;
  readonly cluster: string;
  /** Open points that the user must complete. */
  readonly open: readonly string[];
  readonly steps: readonly MigrationStep[];
}
