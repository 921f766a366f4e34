/** Reports pods with resource claims that do not exist. kube-scheduler does not try such pods, and does not report them. */
import { POD, type Pod, uidOf } from '#api/objects';
import { waitingText } from '#engine/explanations';
import { after, type Reconciler, settled } from '#kube/reconcilers';
import { timeOf } from '#lib';
import { eventOf, FAILED_SCHEDULING } from '#observe/events';
import { isUntried } from '#state';
import type { Deps } from '../deps.ts';

/** kube-scheduler tries a pod, and controllers create its claims, within this time. */
const PARKED_MS = 30_000;
const AGAIN_MS = 5 * 60_000;

const mayBeParked = (pod: Pod): boolean => (pod.spec.resourceClaims ?? []).length > 0 && isUntried(pod);

export const parkedPods = ({ clock, events }: Pick<Deps, 'clock' | 'events'>): Reconciler<Pod> => ({
  name: 'provisioner.parkedpods',
  watches: POD,
  filter: (pod, event) => event !== 'deleted' && mayBeParked(pod),

  async reconcile(pod) {
    if (!mayBeParked(pod)) return settled;
    const restMs = timeOf(pod.metadata.creationTimestamp) + PARKED_MS - clock.now();
    // a clock that is behind the API server must not extend the wait
    if (restMs > 0) return after(Math.min(restMs, PARKED_MS));
    const message = FAILED_SCHEDULING.message(waitingText({ pod, preemption: undefined }));
    events.publish(eventOf(FAILED_SCHEDULING, pod, { message, dedupe: [uidOf(pod)] }));
    return after(AGAIN_MS);
  },
});
