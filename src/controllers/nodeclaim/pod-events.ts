/** Records on a NodeClaim the time of the last pod event on its node, for `consolidateAfter`. */
import { NODE_CLAIM, type NodeClaim, nodeNameOf, POD, type Pod, uidOf } from '#api/objects';
import { isOwnedByDaemonSet, isScheduled, isTerminal, isTerminating } from '#engine/model';
import { unlessGone } from '#kube/client';
import { type Reconciler, settled } from '#kube/reconcilers';
import { timeOf, timestamp } from '#lib';
import { monotonicMs } from '#lib/clock';
import type { Deps } from '../deps.ts';

/** Pod events within this time of each other are recorded once. */
const RESOLUTION_MS = 10_000;

export function podEvents({ client, clock, cluster }: Deps): Reconciler<Pod> {
  /** Time of the last write by this process, by UID of the NodeClaim, in `monotonicMs`. The store may not show the write yet. */
  const written = new Map<string, number>();
  cluster.stores.nodeClaims.subscribe((event, claim) => {
    if (event === 'deleted') written.delete(uidOf(claim));
  });

  return {
    name: 'nodeclaim.podevents',
    watches: POD,
    concurrency: 1,
    filter: (pod, event, before) => event === 'added' || (before !== undefined && isTelling(pod, before)),

    async reconcile(pod) {
      if (!isScheduled(pod) || isOwnedByDaemonSet(pod)) return settled;
      const node = cluster.stores.nodes.get({ name: nodeNameOf(pod) });
      const [claim, ...others] = node ? cluster.claimsOfNode(node) : [];
      if (claim === undefined || others.length > 0) return settled;
      const uid = uidOf(claim);
      const writtenMs = monotonicMs(clock);
      if (writtenMs - (written.get(uid) ?? Number.NEGATIVE_INFINITY) < RESOLUTION_MS) return settled;
      const nowMs = clock.now();
      if (isRecent(claim, nowMs)) return settled;
      const patch = { status: { lastPodEventTime: timestamp(nowMs) } };
      await unlessGone(client.patch(NODE_CLAIM, { name: claim.metadata.name }, patch, { subresource: 'status' }));
      written.set(uid, writtenMs);
      return settled;
    },
  };
}

/**
 * Returns true if the recorded time is recent. A time in the future comes from a clock that was ahead, so it is recorded again.
 */
function isRecent({ status }: NodeClaim, nowMs: number): boolean {
  const agoMs = nowMs - timeOf(status?.lastPodEventTime);
  return agoMs >= 0 && agoMs < RESOLUTION_MS;
}

/** Returns true if the pod was bound, finished or began to terminate. */
function isTelling(pod: Pod, before: Pod): boolean {
  if (!isScheduled(pod)) return false;
  const became = (is: (pod: Pod) => boolean): boolean => is(pod) && !is(before);
  return became(isScheduled) || became(isTerminal) || became(isTerminating);
}
