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

export const NODE_REBOOTING = event({
  reason: 'NodeRebooting',
  type: 'Warning',
  about: ['NodeClaim', 'Node'],
  meaning:
    'The instance is rebooted because its Node has been unhealthy for too long and its NodePolicy allows reboots.',
  key: 'uid of the object',
  message: (type: string, status: string, since: string | undefined) =>
    `Rebooting the instance: condition ${type} of its node has been ${status} since ${since}`,
});

export const REBOOT_FAILED = event({
  reason: 'RebootFailed',
  type: 'Warning',
  about: ['NodeClaim'],
  meaning: 'The Node was not healthy in time after a reboot. It is replaced if it stays unhealthy.',
  key: 'uid of the NodeClaim',
  message: (minutes: number) => `The node was not healthy ${minutes} minutes after its reboot was requested`,
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
