/** Events of Nodes that are drained or repaired. */
import { event, MINUTE } from './declaration.ts';

export const FAILED_DRAINING = event({
  reason: 'FailedDraining',
  type: 'Warning',
  about: ['Node'],
  meaning: 'The drain of the Node goes on: pods wait to be evicted, or a PodDisruptionBudget holds one of them back.',
  key: 'name of the Node, and which of the two it is',
  message: (obstacle: string) => `Failed to drain node, ${obstacle}`,
});

export const AWAITING_VOLUME_DETACHMENT = event({
  reason: 'AwaitingVolumeDetachment',
  type: 'Normal',
  about: ['Node'],
  meaning: 'The Node is drained, and its instance is terminated once its volumes are detached.',
  key: 'name of the Node',
  message: (attachments: string) => `Awaiting deletion of bound volumeattachments (${attachments})`,
});

export const NODE_REPAIR_BLOCKED = event({
  reason: 'NodeRepairBlocked',
  type: 'Warning',
  about: ['Node'],
  meaning: 'The Node is broken and is not replaced, because too many Nodes are.',
  key: 'uid of the Node, of its NodeClaim and of its NodePool, one event for each',
  windowMs: 15 * MINUTE,
});
