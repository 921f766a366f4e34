/** NodeClaims that were launched for pods, from the events of the operator. The objects of a cluster do not name them. */
import type { KubeEvent } from '../../api/kubernetes.ts';
import { timeOf } from '../../lib/times.ts';
import type { Manifest } from './read.ts';

const CLAIM = /\bnodeclaim\/([a-z0-9.-]+)/;

/** Returns the name of the last NodeClaim of each pod, by UID of the pod. */
export function nominatedClaims(manifests: readonly Manifest[]): ReadonlyMap<string, string> {
  const found = new Map<string, { readonly claim: string; readonly ms: number }>();
  for (const { object } of manifests) {
    if (object.kind !== 'Event' || !('involvedObject' in object)) continue;
    const { reason, involvedObject, message = '', lastTimestamp, firstTimestamp, metadata } = object as KubeEvent;
    const claim = CLAIM.exec(message)?.[1];
    // a file may contain an event without an object
    const uid = involvedObject?.uid;
    if (reason !== 'Nominated' || claim === undefined || uid === undefined) continue;
    const ms = timeOf(lastTimestamp ?? firstTimestamp ?? metadata.creationTimestamp) || 0;
    if (ms >= (found.get(uid)?.ms ?? 0)) found.set(uid, { claim, ms });
  }
  return new Map([...found].map(([uid, { claim }]) => [uid, claim]));
}
