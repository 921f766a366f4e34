/** Events for NodeClaims that the operator deletes without being asked: why their nodes go. */
import type { NodeClaim } from '../api/nodeclaim.ts';
import { eventOf, type KeyedEvent } from '../observe/events/declaration.ts';
import type { Deps } from './deps.ts';

/** Publishes it on the claim and on its Nodes. */
export function publishDeparture(
  { cluster, events }: Deps,
  claim: NodeClaim,
  departure: KeyedEvent,
  message: string,
): void {
  const objects = [claim, ...cluster.nodesOfClaim(claim)];
  events.publish(
    ...objects.map((object) => eventOf(departure, object, { message, dedupe: [object.metadata.uid ?? ''] })),
  );
}
