/** Publishes the places that a decision has found for pods. */
import { type KubeObject, type Pod, uidOf } from '#api/objects';
import { eventOf, NOMINATED } from '#observe/events';
import { recordClaim } from '#planner';
import type { Deps } from './deps.ts';

/** Publishes the nominated node of a pod. */
export function publishNominated(
  { cluster, events }: Pick<Deps, 'cluster' | 'events'>,
  pod: Pod,
  to: { readonly nodeClaim?: KubeObject | undefined; readonly node?: KubeObject | undefined },
): void {
  const places = [
    ...(to.nodeClaim ? [`nodeclaim/${to.nodeClaim.metadata.name}`] : []),
    ...(to.node ? [`node/${to.node.metadata.name}`] : []),
  ];
  if (to.nodeClaim !== undefined) recordClaim(cluster, pod, to.nodeClaim.metadata.name);
  events.publish(eventOf(NOMINATED, pod, { message: NOMINATED.message(places), dedupe: [uidOf(pod)] }));
}
