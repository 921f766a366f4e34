/** Nominates nodes for pods: a nominated node is not disrupted until the pods have had time to be bound. */
import type { KubeObject, Pod } from '../api/kubernetes.ts';
import { uidOf } from '../api/object-fields.ts';
import { usesDevices } from '../engine/dra/pod-claims.ts';
import type { StateNode } from '../engine/model.ts';
import { eventOf } from '../observe/events/declaration.ts';
import { NOMINATED } from '../observe/events/pods.ts';
import { nominationMs } from '../planner/options.ts';
import type { Deps } from './deps.ts';

export function nominateNode({ cluster, settings }: Pick<Deps, 'cluster' | 'settings'>, node: StateNode): void {
  cluster.nominate(node.providerId, nominationMs(settings.batchMaxMs));
}

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
  if (to.nodeClaim !== undefined && usesDevices(pod))
    cluster.nominatedClaims.set(uidOf(pod), to.nodeClaim.metadata.name);
  events.publish(eventOf(NOMINATED, pod, { message: NOMINATED.message(places), dedupe: [uidOf(pod)] }));
}
