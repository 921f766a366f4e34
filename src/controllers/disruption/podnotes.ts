/** Events on pods about their own do-not-disrupt annotation. */
import { timestamp } from '../../api/conditions.ts';
import type { Pod } from '../../api/kubernetes.ts';
import { DO_NOT_DISRUPT_ANNOTATION } from '../../api/labels.ts';
import { protectionOf } from '../../engine/disruption/candidates/protection.ts';
import { isActive } from '../../engine/pods.ts';
import type { EventNote, EventRecorder } from '../../kube/events.ts';

export function publishProtection(events: EventRecorder, pods: readonly Pod[], nowMs: number): void {
  events.publish(...pods.filter(isActive).flatMap((pod) => noteOf(pod, nowMs) ?? []));
}

function noteOf(pod: Pod, nowMs: number): EventNote | undefined {
  const protection = protectionOf(pod, nowMs);
  const uid = pod.metadata.uid ?? '';
  switch (protection.kind) {
    case 'invalid':
      return {
        object: pod,
        type: 'Warning',
        reason: 'InvalidDoNotDisruptAnnotation',
        message: `Invalid ${DO_NOT_DISRUPT_ANNOTATION} annotation: ${protection.error}, ignoring annotation`,
        dedupe: [uid, protection.error],
      };
    case 'until': {
      const time = timestamp(protection.ms);
      const message = `The ${DO_NOT_DISRUPT_ANNOTATION} grace period will elapse at ${time}`;
      return { object: pod, type: 'Normal', reason: 'DoNotDisruptUntil', message, dedupe: [uid, time] };
    }
    case 'elapsed': {
      const message = `The ${DO_NOT_DISRUPT_ANNOTATION} grace period has elapsed, pod is now disruptable`;
      return { object: pod, type: 'Normal', reason: 'DoNotDisruptGracePeriodElapsed', message, dedupe: [uid] };
    }
    default:
      return undefined;
  }
}
