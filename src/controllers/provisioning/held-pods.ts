/** Keeps held pods out of provisioning runs, and says so. */
import type { Pod } from '../../api/kubernetes.ts';
import { nodeNameOf } from '../../api/object-fields.ts';
import { isScheduled, podKey } from '../../engine/pods.ts';
import { type PodHold, type PodHolds, timeOf } from '../../engine-worker/pod-holds.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { POD_HELD } from '../../observe/events/pods.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import { firstFew } from '../text.ts';

export interface HeldPods {
  /** The pods that are not held. What is held is reported by events. */
  taking(pods: readonly Pod[]): readonly Pod[];
  isHeld(pod: Pod): boolean;
  /** Leaves the pods, and those like them, out from now on. */
  hold(pods: readonly Pod[], why: Pick<PodHold, 'code' | 'text'>, log: Logger): void;
}

export function heldPods(
  { clock, cluster, events }: Pick<Deps, 'clock' | 'cluster' | 'events'>,
  holds: PodHolds,
): HeldPods {
  cluster.stores.pods.subscribe((event, pod, before) => {
    if (holds.size === 0 || event === 'deleted' || !isScheduled(pod) || (before && isScheduled(before))) return;
    // that a node of somebody else takes such pods says nothing of those that are bought for them
    const isManaged = cluster.nodeByName(nodeNameOf(pod))?.nodeClaim !== undefined;
    if (isManaged || holds.heldNow(pod)?.code !== 'not-bound') holds.release(pod);
  });

  const until = ({ untilMs }: PodHold): string => timeOf(clock, untilMs);

  function publish(pod: Pod, hold: PodHold): void {
    const message = POD_HELD.message(until(hold), hold.text);
    events.publish(eventOf(POD_HELD, pod, { message, dedupe: [pod.metadata.uid ?? podKey(pod), hold.code] }));
  }

  return {
    isHeld: (pod) => holds.heldNow(pod) !== undefined,
    taking: (pods) =>
      pods.filter((pod) => {
        const hold = holds.heldNow(pod);
        if (hold !== undefined) publish(pod, hold);
        return hold === undefined;
      }),
    hold(pods, why, log) {
      for (const pod of pods) {
        if (holds.heldNow(pod) !== undefined) continue;
        const hold = holds.hold(pod, why);
        const alike = pods.filter((other) => holds.heldNow(other) === hold);
        for (const each of alike) publish(each, hold);
        log.error('leaving pod(s) out of provisioning', {
          Pods: firstFew(alike.map(podKey)),
          code: hold.code,
          until: until(hold),
          error: hold.text,
        });
      }
    },
  };
}
