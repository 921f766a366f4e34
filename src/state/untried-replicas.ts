/** Replicas of unschedulable pods that kube-scheduler has not tried yet (docs/decisions/0031). */
import { controllerOf, type Pod } from '#api/objects';
import { isActive, isScheduled, isUnschedulable } from '#engine/model';
import type { Store } from '#kube/client';
import { likenessOf } from './pod-likeness.ts';

/**
 * Kinds that create interchangeable pods from one template. Pods of a StatefulSet have their own volumes, so they are not
 * interchangeable.
 */
const REPLICATING_KINDS: ReadonlySet<string> = new Set(['ReplicaSet', 'ReplicationController', 'Job']);

/** Returns the UID of the controller if its pods are interchangeable with this pod, otherwise undefined. */
export function replicatorOf(pod: Pod): string | undefined {
  // device allocation decides separately for each pod
  if ((pod.spec.resourceClaims ?? []).length > 0) return undefined;
  const owner = controllerOf(pod);
  return owner !== undefined && REPLICATING_KINDS.has(owner.kind) ? owner.uid : undefined;
}

/** Returns true if the pod waits for kube-scheduler's first attempt. */
export const isUntried = (pod: Pod): boolean =>
  isActive(pod) && !isScheduled(pod) && !(pod.status?.conditions ?? []).some(({ type }) => type === 'PodScheduled');

/**
 * Returns the unscheduled pods that kube-scheduler has not tried and that are replicas of a provisionable pod.
 * kube-scheduler will find no place for these replicas either. Launching nodes for all replicas together saves the time
 * in which kube-scheduler tries hundreds of replicas one after the other (docs/decisions/0031).
 */
export function untriedReplicas(
  unscheduled: readonly Pod[],
  { isProvisionable }: { readonly isProvisionable: (pod: Pod) => boolean },
): readonly Pod[] {
  const untried = unscheduled.filter((pod) => isUntried(pod) && replicatorOf(pod) !== undefined);
  if (untried.length === 0) return [];
  const replicators = new Set(untried.map(replicatorOf));
  // pods that were created after an edit of the template have different requirements
  const tried = new Set(
    unscheduled.filter((pod) => replicators.has(replicatorOf(pod)) && isProvisionable(pod)).map(kindOfReplica),
  );
  return untried.filter((pod) => tried.has(kindOfReplica(pod)));
}

const kindOfReplica = (pod: Pod): string => `${replicatorOf(pod)} ${likenessOf(pod)}`;

/** Index of controllers that have an unschedulable pod. The index follows the store. */
export class UnschedulableReplicators {
  /** Unschedulable pods by the UID of their controller. */
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
    const uid = isUnschedulable(pod) ? replicatorOf(pod) : undefined;
    if (uid === undefined) return;
    const count = (this.#counts.get(uid) ?? 0) + by;
    if (count > 0) this.#counts.set(uid, count);
    else this.#counts.delete(uid);
  }
}
