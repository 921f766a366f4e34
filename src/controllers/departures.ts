/** Events for NodeClaims that the operator deletes without being asked: why their nodes go. */
import type { NodeClaim } from '../api/nodeclaim.ts';
import type { EventNote } from '../kube/events.ts';
import type { Deps } from './deps.ts';

export type Departure = Pick<EventNote, 'type' | 'message'> & {
  readonly reason: 'Expired' | 'LaunchTimeout' | 'RegistrationTimeout' | 'GarbageCollected' | 'Unhealthy';
};

/** Tells it on the claim and on its Nodes. */
export function publishDeparture({ cluster, events }: Deps, claim: NodeClaim, departure: Departure): void {
  const objects = [claim, ...cluster.nodesOfClaim(claim)];
  events.publish(...objects.map((object) => ({ ...departure, object, dedupe: [object.metadata.uid ?? ''] })));
}
