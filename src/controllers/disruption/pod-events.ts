/** Events on pods about their own do-not-disrupt annotation. */
import type { Pod } from '../../api/kubernetes.ts';
import { uidOf } from '../../api/object-fields.ts';
import { annotatedPods, protectionOf } from '../../engine/disruption/candidates/protection.ts';
import type { EventNote, EventRecorder } from '../../kube/events.ts';
import { timestamp } from '../../lib/times.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import {
  DO_NOT_DISRUPT_GRACE_PERIOD_ELAPSED,
  DO_NOT_DISRUPT_UNTIL,
  INVALID_DO_NOT_DISRUPT_ANNOTATION,
} from '../../observe/events/pods.ts';

export function publishProtection(events: EventRecorder, pods: readonly Pod[], nowMs: number): void {
  for (const pod of annotatedPods(pods)) {
    const event = eventFor(pod, nowMs);
    if (event) events.publish(event);
  }
}

function eventFor(pod: Pod, nowMs: number): EventNote | undefined {
  const protection = protectionOf(pod, nowMs);
  const uid = uidOf(pod);
  switch (protection.kind) {
    case 'invalid':
      return eventOf(INVALID_DO_NOT_DISRUPT_ANNOTATION, pod, {
        message: INVALID_DO_NOT_DISRUPT_ANNOTATION.message(protection.error),
        dedupe: [uid, protection.error],
      });
    case 'until': {
      const time = timestamp(protection.ms);
      return eventOf(DO_NOT_DISRUPT_UNTIL, pod, { message: DO_NOT_DISRUPT_UNTIL.message(time), dedupe: [uid, time] });
    }
    case 'elapsed': {
      const message = DO_NOT_DISRUPT_GRACE_PERIOD_ELAPSED.message();
      return eventOf(DO_NOT_DISRUPT_GRACE_PERIOD_ELAPSED, pod, { message, dedupe: [uid] });
    }
    default:
      return undefined;
  }
}
