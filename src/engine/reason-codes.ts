/**
 * Codes of the reasons for which something is not done, each declared once. They are public: docs/reference/formats/codes.md
 * has a row with the remedy for each.
 */

/** The node is not a candidate for any method of a class. */
export const NODE_BLOCKS = [
  'in-progress',
  'unmanaged',
  'no-node',
  'not-initialized',
  'deleting',
  'nominated',
  'do-not-disrupt',
  'no-pool-label',
  'no-pool',
  'pod-do-not-disrupt',
  'pdb',
  'several-pdbs',
  'gang',
  'unreadable',
] as const;

/** A disruption method declines a candidate. */
export const NODE_DECLINES = [
  // because of the node itself and its NodePool
  'static-pool',
  'dynamic-pool',
  'consolidation-disabled',
  'buffer-pods',
  'not-empty',
  'empty',
  'only-when-empty',
  'not-consolidatable',
  'not-drifted',
  'unknown-instance-type',
  'no-capacity-type',
  'no-zone',
  // because of the expected result of the disruption
  'gang',
  'budget',
  'rollout',
  'limits',
  'pods-stranded',
  'several-replacements',
  'min-values',
  'not-cheaper',
  'spot-to-spot-disabled',
  'spot-to-spot-flexibility',
  'spot-risk',
  'preferences',
  'unbalanced',
  'not-worth-moving',
  'changed',
  'paused',
  'observed',
  'failed',
] as const;

/**
 * `chosen`: the first method with a command disrupts the node. `next`: the command of a later method would disrupt the node.
 * `not-reached`: no command includes the node, and there is no reason specific to the node.
 */
export const NODE_OUTCOMES = ['chosen', 'next', 'not-reached'] as const;

/** A drain waits. `budget`, `rollout` and `claims-ignored` apply to nodes that are not drained, as the blocks of nodes do. */
export const DRAIN_BLOCKERS = [
  'budget',
  'rollout',
  'claims-ignored',
  'deadline-unreadable',
  'pod-terminating',
  'pod-eviction',
  'volume-attached',
  'no-controller',
  'instance',
  'node-finalizer',
  'nodeclaim-finalizer',
] as const;

/**
 * A NodePool launches no nodes for any pod: its conditions, its fixed number of nodes, its deletion, requirements without any
 * instance type, or a field that is not valid.
 */
export const IDLE_POOLS = ['not-ready', 'static', 'deleting', 'no-instance-types', 'unreadable'] as const;

/** A pod stays pending because of a NodePool. */
export const POD_CAUSES = [
  'no-such-nodepool',
  'requirements',
  'undefined-label',
  'unknown-instance-type',
  'not-offered',
  'sold-out',
  'spot-price',
  'too-large',
  'taint',
  'limits',
  'min-values',
  'topology',
  'volume',
  'devices',
  'host-port',
  'volume-limit',
  'ceiling',
  'reserved-capacity',
  'launch-withheld',
  ...IDLE_POOLS,
] as const;

/** Verdicts on pods. */
export const POD_VERDICTS = [
  'running',
  'held',
  'waiting',
  'fits',
  'joining',
  'bought',
  'unschedulable',
  'gang',
  'undecided',
  'unknown',
] as const;

/** Launches were unproductive. */
export const LAUNCH_CAUSES = [
  'taint',
  'label',
  'resource',
  'host-port',
  'volume',
  'not-used',
  'never-joined',
  'terminated',
] as const;
