/** NodeClaims that were launched for pods, from the events of the operator. The objects of a cluster do not name them. */
import type { KubeEvent } from '../../api/kubernetes.ts';
import { timeOf } from '../../lib/times.ts';
import { NOMINATED } from '../../observe/events/pods.ts';
import type { Manifest } from './read.ts';

const CLAIM = /\bnodeclaim\/([a-z0-9.-]+)/;
/** Part of the message about a place on an existing node. */
const PLACED = ', node/';

/** Returns the NodeClaim that was launched for the pod of a nomination, or undefined for other events. */
export const nominatedClaim = ({ reason, message = '' }: KubeEvent): string | undefined =>
  reason === NOMINATED.reason && !message.includes(PLACED) ? CLAIM.exec(message)?.[1] : undefined;

/** Returns the name of the last NodeClaim of each pod, by UID of the pod. */
export function nominatedClaims(manifests: readonly Manifest[]): ReadonlyMap<string, string> {
  const found = new Map<string, { readonly claim: string; readonly ms: number }>();
  for (const { object } of manifests) {
    if (object.kind !== 'Event' || !('involvedObject' in object)) continue;
    const { involvedObject, lastTimestamp, firstTimestamp, metadata } = object as KubeEvent;
    const claim = nominatedClaim(object as KubeEvent);
    // a file may contain an event without an object
    const uid = involvedObject?.uid;
    if (claim === undefined || uid === undefined) continue;
    const ms = timeOf(lastTimestamp ?? firstTimestamp ?? metadata.creationTimestamp) || 0;
    if (ms >= (found.get(uid)?.ms ?? 0)) found.set(uid, { claim, ms });
  }
  return new Map([...found].map(([uid, { claim }]) => [uid, claim]));
}
