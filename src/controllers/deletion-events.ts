/** Events for NodeClaims that the operator itself deletes, with the reason. */
import { type NodeClaim, uidOf } from '#api/objects';
import { eventOf, type KeyedEvent } from '#observe/events';
import type { Deps } from './deps.ts';

/** Publishes an event on a deleted NodeClaim and on its Nodes. */
export function publishDeletion({ cluster, events }: Deps, claim: NodeClaim, event: KeyedEvent, message: string): void {
  const objects = [claim, ...cluster.nodesOfClaim(claim)];
  events.publish(...objects.map((object) => eventOf(event, object, { message, dedupe: [uidOf(object)] })));
}
