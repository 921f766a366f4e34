/** NodeClaims that were launched for pods, from the events of the operator. The objects of a cluster do not name them. */
import type { KubeEvent, Pod } from '#api/objects';
import { podKey } from '#engine/model';
import { timeOf } from '#lib';
import { NOMINATED } from '#observe/events';
import { recordClaim } from '#planner';
import type { ClusterState } from '#state';
import type { Manifest } from './read.ts';

const CLAIM = /\bnodeclaim\/([a-z0-9.-]+)/;
/** Part of the message about a place on an existing node. */
const PLACED = ', node/';

/** Returns the NodeClaim that was launched for the pod of a nomination, or undefined for other events. */
export const nominatedClaim = (event: KubeEvent): string | undefined =>
  (event.message ?? '').includes(PLACED) ? undefined : chosenClaim(event);

/** Returns the NodeClaim of a nomination, or undefined for other events. */
const chosenClaim = ({ reason, message = '' }: KubeEvent): string | undefined =>
  reason === NOMINATED.reason ? CLAIM.exec(message)?.[1] : undefined;

/** Assigns the pods to the NodeClaims of their last nominations. */
export function nominate(cluster: ClusterState, manifests: readonly Manifest[], pods: readonly Pod[]): void {
  const events = manifests.flatMap(({ object }) =>
    object.kind === 'Event' && 'involvedObject' in object ? [object as KubeEvent] : [],
  );
  const launched = lastClaims(events, nominatedClaim);
  const chosen = lastClaims(events, chosenClaim);
  for (const pod of pods) {
    const uid = pod.metadata.uid ?? '';
    const [claim, recorded] = [launched.get(uid), chosen.get(uid)];
    if (claim !== undefined) cluster.podTimings.assign(podKey(pod), claim);
    if (recorded !== undefined) recordClaim(cluster, pod, recorded);
  }
}

/** Returns the name of the last NodeClaim of each pod, by UID of the pod. */
function lastClaims(
  events: readonly KubeEvent[],
  claimOf: (event: KubeEvent) => string | undefined,
): ReadonlyMap<string, string> {
  const found = new Map<string, { readonly claim: string; readonly ms: number }>();
  for (const event of events) {
    const { involvedObject, lastTimestamp, firstTimestamp, metadata } = event;
    const claim = claimOf(event);
    // a file may contain an event without an object
    const uid = involvedObject?.uid;
    if (claim === undefined || uid === undefined) continue;
    const ms = timeOf(lastTimestamp ?? firstTimestamp ?? metadata.creationTimestamp) || 0;
    if (ms >= (found.get(uid)?.ms ?? 0)) found.set(uid, { claim, ms });
  }
  return new Map([...found].map(([uid, { claim }]) => [uid, claim]));
}
