/**
 * Second step of node termination: waits until the volumes of the node are detached, so that pods can attach them on other
 * nodes.
 */
import { pendingAttachments } from '#engine/drain';
import { AWAITING_VOLUME_DETACHMENT, eventOf } from '#observe/events';
import { ATTACHMENTS_BY_NODE, PODS_BY_NODE } from '#state';
import type { Deps } from '../deps.ts';
import { firstFew } from '../text.ts';
import { type TerminationStep, withCondition } from './step.ts';

const POLL_MS = 1_000;
const TYPE = 'VolumesDetached';

export function detaching({ clock, cluster, events }: Deps): TerminationStep {
  const { pods, persistentVolumeClaims, volumeAttachments: attachments } = cluster.stores;

  return ({ node, claim, deadlineMs }) => {
    const nowMs = clock.now();
    const { name } = node.metadata;
    const pending = pendingAttachments({
      attachments: attachments.byIndex(ATTACHMENTS_BY_NODE, name),
      pods: pods.byIndex(PODS_BY_NODE, name),
      claim: (ref) => persistentVolumeClaims.get(ref),
      nowMs,
    });
    if (pending.length === 0) return { claim: withCondition(claim, { type: TYPE, status: 'True' }, nowMs) };
    if (nowMs > deadlineMs) {
      const reason = 'TerminationGracePeriodElapsed';
      return { claim: withCondition(claim, { type: TYPE, status: 'False', reason, message: reason }, nowMs) };
    }
    const message = AWAITING_VOLUME_DETACHMENT.message(firstFew(pending.map((each) => each.metadata.name)));
    events.publish(eventOf(AWAITING_VOLUME_DETACHMENT, node, { message, dedupe: [name] }));
    const reason = 'AwaitingVolumeDetachment';
    const update = { type: TYPE, status: 'Unknown', reason, message: reason } as const;
    return { claim: withCondition(claim, update, nowMs), waitMs: POLL_MS };
  };
}
