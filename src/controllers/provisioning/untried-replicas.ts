/**
 * Pods that kube-scheduler has not looked at yet, and that are replicas of one that it found unschedulable: it will find
 * no place for these either. To buy for them along with the first saves the time in which it tries hundreds of replicas
 * one after the other (docs/decisions/0031).
 */
import type { Pod } from '../../api/kubernetes.ts';
import { isActive, isProvisionable, isScheduled } from '../../engine/pods.ts';
import type { Store } from '../../kube/client.ts';
import { likenessOf } from '../../state/pod-likeness.ts';

/** Their pods are made from one template and are interchangeable. Those of a StatefulSet have volumes of their own. */
const REPLICATING_KINDS: ReadonlySet<string> = new Set(['ReplicaSet', 'ReplicationController', 'Job']);

/** UID of the controller whose pods are interchangeable with this one; undefined for any other pod. */
export function replicatorOf({ metadata, spec }: Pod): string | undefined {
  // who allocates devices decides for each pod
  if ((spec.resourceClaims ?? []).length > 0) return undefined;
  const owner = (metadata.ownerReferences ?? []).find(({ controller }) => controller);
  return owner !== undefined && REPLICATING_KINDS.has(owner.kind) ? owner.uid : undefined;
}

/** Waits for kube-scheduler's first look. */
export const isUntried = (pod: Pod): boolean =>
  isActive(pod) &&
  !isScheduled(pod) &&
  !pod.status?.nominatedNodeName &&
  !(pod.status?.conditions ?? []).some(({ type }) => type === 'PodScheduled');

/** Those of some unscheduled pods that have not been tried and are replicas of one that is provisionable. */
export function untriedReplicas(unscheduled: readonly Pod[]): readonly Pod[] {
  const untried = unscheduled.filter((pod) => isUntried(pod) && replicatorOf(pod) !== undefined);
  if (untried.length === 0) return [];
  const replicators = new Set(untried.map(replicatorOf));
  // a template that was edited in place makes pods of other demands
  const tried = new Set(
    unscheduled.filter((pod) => isProvisionable(pod) && replicators.has(replicatorOf(pod))).map(kindOfReplica),
  );
  return untried.filter((pod) => tried.has(kindOfReplica(pod)));
}

const kindOfReplica = (pod: Pod): string => `${replicatorOf(pod)} ${likenessOf(pod)}`;

/** Which controllers have a provisionable pod, kept up to date with the store. */
export class UnschedulableReplicators {
  /** Provisionable pods by the UID of their controller. */
  readonly #counts = new Map<string, number>();

  constructor(pods: Pick<Store<Pod>, 'subscribe'>) {
    pods.subscribe((event, pod, before) => {
      if (before !== undefined) this.#count(before, -1);
      if (event !== 'deleted') this.#count(pod, 1);
    });
  }

  has(uid: string): boolean {
    return this.#counts.has(uid);
  }

  #count(pod: Pod, by: number): void {
    const uid = isProvisionable(pod) ? replicatorOf(pod) : undefined;
    if (uid === undefined) return;
    const count = (this.#counts.get(uid) ?? 0) + by;
    if (count > 0) this.#counts.set(uid, count);
    else this.#counts.delete(uid);
  }
}
