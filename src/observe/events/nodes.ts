/** Events of Nodes that are drained or repaired. */
import { event, MINUTE } from './declaration.ts';

export const FAILED_DRAINING = event({
  reason: 'FailedDraining',
  type: 'Warning',
  about: ['Node'],
  meaning:
    'The Node is being drained. Pods wait for their eviction, a PodDisruptionBudget blocks an eviction, or the API server does not list the pods of the Node.',
  key: 'name of the Node, and which of the three it is',
  message: (obstacle: string) => `Failed to drain node, ${obstacle}`,
});

export const AWAITING_VOLUME_DETACHMENT = event({
  reason: 'AwaitingVolumeDetachment',
  type: 'Normal',
  about: ['Node'],
  meaning: 'The Node is drained. Its instance is terminated when its volumes are detached.',
  key: 'name of the Node',
  message: (attachments: string) => `Awaiting deletion of bound volumeattachments (${attachments})`,
});

export const NODE_REPAIR_BLOCKED = event({
  reason: 'NodeRepairBlocked',
  type: 'Warning',
  isLasting: true,
  about: ['Node'],
  meaning: 'The Node is unhealthy, but it is not repaired: too many Nodes are unhealthy, or its annotation forbids it.',
  key: 'uid of the Node, of its NodeClaim and of its NodePool, one event for each',
  windowMs: 15 * MINUTE,
});
